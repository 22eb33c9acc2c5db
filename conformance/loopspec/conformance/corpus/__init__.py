"""The corpus: scenarios that everybody who read the contract would want to see run."""

from loopspec.conformance.corpus.corpus import CorpusEntry, CorpusError, load_corpus, parse_entry

__all__ = ["CorpusEntry", "CorpusError", "load_corpus", "parse_entry"]
