"""Documents of a packed row kept apart: each as if it were alone. Against slow and obvious NumPy."""

import numpy as np
import pytest
from slow_llama import slow_logits

from mrprep.mindrecord.columns import columns
from mrprep.training.config import ModelConfig

pytestmark = pytest.mark.mindspore

VOCAB, SEQ, EOD, PAD = 23, 12, 2, 0
CONFIG = ModelConfig(
    vocab_size=VOCAB,
    hidden_size=16,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=SEQ,
    initializer_range=0.3,
)
ROWS = [  # lengths of the documents of each row of 13 tokens, each but a last that is cut with its EOD
    [5, 1, 4, 3],
    [13],
    [2, 2, 2, 2, 2, 3],
    [4, 3],
]


@pytest.fixture(scope="module")
def ms():
    import mindspore

    mindspore.set_device("CPU")
    return mindspore


@pytest.fixture(scope="module")
def packed():
    """Rows int32[4, 13], the third ends within a document, the last is filled up; and their documents."""
    draws = np.random.default_rng(4)
    rows, documents = np.full((len(ROWS), SEQ + 1), PAD, np.int32), []
    for number, lengths in enumerate(ROWS):
        at = 0
        for length in lengths:
            document = draws.integers(4, VOCAB, length)
            if (number, at) != (2, 10):
                document[-1] = EOD
            rows[number, at : at + length] = document
            documents.append((number, at, document))
            at += length
    return rows, documents


def _layout(packed, layout):
    rows, documents = packed
    number, end = np.array([(n, at + len(d)) for n, at, d in documents]).T
    return columns(layout, rows, number, end, 8)


def _model(ms, seq=SEQ, position=False):
    from mrprep.training.documents import Apart
    from mrprep.training.model import Llama

    return Llama(CONFIG, seq, 3, Apart(EOD, True, position))


def _slow_losses(model, documents):
    """Summed cross entropy and targets of documents, each alone."""
    weights = {p.name: p.asnumpy().astype(np.float64) for p in model.trainable_params()}
    total, count = 0.0, 0
    for document in documents:
        logits = slow_logits(CONFIG, weights, document[:-1]) if len(document) > 1 else np.zeros((0, VOCAB))
        picked = logits[np.arange(len(document) - 1), document[1:]] - np.log(np.exp(logits).sum(-1))
        total, count = total - picked.sum(), count + len(document) - 1
    return total, count


@pytest.mark.parametrize("position", [False, True])
def test_logits_of_each_document_are_those_of_it_alone(ms, packed, position):
    model, (rows, documents) = _model(ms, position=position), packed
    logits = model(ms.Tensor(rows[:, :-1])).asnumpy().reshape(len(rows), SEQ, VOCAB)
    weights = {p.name: p.asnumpy().astype(np.float64) for p in model.trainable_params()}
    for number, at, document in documents:
        inputs = document[: SEQ - at]
        alone = slow_logits(CONFIG, weights, inputs)
        assert np.abs(logits[number, at : at + len(inputs)] - alone).max() < 1e-5


@pytest.mark.parametrize("layout", ["flat", "mcore"])
@pytest.mark.parametrize("cut", [None, 4])
def test_the_loss_is_that_of_the_documents_apart(ms, packed, layout, cut):
    """Rows cut shorter are rows of their own: a document that is cut goes on as another."""
    from mrprep.training.data import splitter
    from mrprep.training.optimizer import AdamW, AdamWOptions
    from mrprep.training.rows import COLUMNS
    from mrprep.training.step import TrainStep

    model = _model(ms, cut or SEQ, position=True)
    arrays = _layout(packed, layout)
    split = splitter(layout, PAD, EOD, cut, apart=True)
    step = TrainStep(
        model, AdamW(model.trainable_params(), AdamWOptions(weight_decay=0.0)), split, ranks=1, accumulate=1, clip=1
    )
    outcome = step([tuple(ms.Tensor(arrays[name]) for name in COLUMNS[layout])], 0.0)
    pieces = []
    for _, at, document in packed[1]:
        edges = [0, *(edge - at for edge in range(cut, SEQ, cut) if at < edge < at + len(document))] if cut else [0]
        pieces += [document[a : (b or len(document)) + 1] for a, b in zip(edges, [*edges[1:], None], strict=True)]
    total, count = _slow_losses(model, pieces)
    assert outcome.tokens == count
    assert outcome.loss == pytest.approx(total / count, abs=1e-5)


@pytest.mark.parametrize(("attention", "position"), [(True, True), (False, True), (True, False)])
def test_mask_and_places_place_by_place(ms, packed, attention, position):
    """In layout mcore they are those of the build's own columns."""
    from mrprep.training.documents import Apart, Boundaries

    made = _layout(packed, "mcore")
    turn = ms.Tensor(np.arange(SEQ, dtype=np.float32)[:, None])
    mask, cos, _ = (
        each.asnumpy() for each in Boundaries(turn, turn, Apart(EOD, attention, position))(ms.Tensor(made["input_ids"]))
    )
    for row in range(len(ROWS) - 1):  # padding is of no document here, a document of its own there
        ends = np.minimum(made["actual_seq_len"][row], SEQ)
        document = np.searchsorted(ends, np.arange(SEQ), side="right")
        for i in range(SEQ):
            for j in range(SEQ):
                hidden = j > i or (attention and document[i] != document[j])
                assert (mask[row, 0] if attention else mask)[i, j] == (np.float32(-1e9) if hidden else 0)
        wanted = made["position_ids"][row] if position else np.arange(SEQ)
        assert ((cos[row, 0] if position else cos)[:, 0] == wanted).all()
