"""`python -m loopspec.impl.schemas`: write the schema files beside the module."""

import sys
from pathlib import Path

from loopspec.impl.schemas import SCHEMAS, text_of

if __name__ == "__main__":
    for name in SCHEMAS:
        path = Path(__file__).with_name(name)
        path.write_text(text_of(name), encoding="utf-8")
        sys.stdout.write(f"written: {path.name}\n")
