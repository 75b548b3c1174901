"""Small static encoders in the form of model2vec."""

import json

import numpy as np
import pytest


def subject_vectors(subjects, noise=(), width=6):
    """Return vectors of words, by word: those of one subject are alike."""
    random = np.random.default_rng(3)
    found = {}
    for words in subjects:
        middle = random.normal(size=width)
        found |= {word: middle + 0.5 * random.normal(size=width) for word in words}
    return found | {word: 0.3 * random.normal(size=width) for word in noise}


def write_static(folder, vectors, **arrays):
    """Write a static model with vectors of words and pieces of words; return its folder."""
    tokenizers = pytest.importorskip("tokenizers")
    numpy_files = pytest.importorskip("safetensors.numpy")
    pytest.importorskip("model2vec")
    words = {word: i for i, word in enumerate(["[UNK]", *vectors])}
    pieces = tokenizers.models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=50)
    tokenizer = tokenizers.Tokenizer(pieces)
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    rows = np.array([*vectors.values()], dtype=np.float32)
    arrays = {"embeddings": np.vstack([np.zeros_like(rows[:1]), rows]), **arrays}
    numpy_files.save_file(arrays, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"normalize": False}))
    return str(folder)
