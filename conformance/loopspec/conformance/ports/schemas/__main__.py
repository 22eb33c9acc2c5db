"""Write the schema files anew."""

from pathlib import Path

from loopspec.conformance.ports.schemas import documents, text_of

if __name__ == "__main__":
    folder = Path(__file__).parent
    made = documents()
    for old in folder.glob("*.schema.json"):
        if old.name not in made:
            old.unlink()
    for name, document in made.items():
        (folder / name).write_text(text_of(document), encoding="utf-8")
