"""From where on a number is a warning or a failure. Argued for in docs/audit.md, with numbers of real corpora."""

from typing import Self

from pydantic import Field, model_validator

from mrprep.options import Options as Base


class Limits(Base):
    """Pairs are (warning, failure); a single number is where a note begins."""

    unknown: tuple[float, float] = (0.001, 0.02)
    """Share of unknown tokens. One in a thousand is a character a page lost; one in fifty, whole words."""
    byte_fallback: tuple[float, float] = (0.1, 0.4)
    """Share of byte tokens. Rare Han in a fitting vocabulary give 1 to 3 %; a wrong vocabulary over half."""
    user_defined: float = Field(0.01, ge=0, le=1)
    """Share of user-defined pieces in text: text can hold the markers of chat and tools that they stand for."""
    padding: tuple[float, float] = (0.05, 0.5)
    """Share of padding. concat pads under one row a shard; 5 % is where packing itself warns."""
    top_token: tuple[float, float] = (0.2, 0.5)
    """Share of the most frequent token. The comma or line end leads with 4 to 11 % in text and code."""
    entropy: tuple[float, float] = (5.0, 3.0)
    """Bits a token, at most half and three tenths of log2 of the vocabulary. Text has 8 to 11."""
    unseen: float = Field(0.5, ge=0, le=1)
    """Share of pieces not seen among 20 tokens a piece; it harms nothing but speed."""
    bytes_per_token: tuple[float, float] = (1.2, 1.0)
    """Bytes of text a token, of each source, at or under which it is bad. Text that fits has 2 to 5."""
    minor_languages: float = Field(0.2, ge=0, le=1)
    """Share of rows in languages that have under 5 % each: a corpus of a few languages has few such rows."""
    cut_documents: float = Field(0.3, ge=0, le=1)
    """Share of the documents that are cut at a row's end although they would fit into a row."""
    short_documents: float = Field(0.5, ge=0, le=1)
    """Share of documents of under 64 bytes: more often lines taken for documents than poems."""
    identical_rows: tuple[float, float] = (0.005, 0.05)
    """Share of rows that equal another sampled one. Deduplicated and shuffled text has none."""
    monotone_rows: tuple[float, float] = (0.01, 0.05)
    """Share of rows of one repeated phrase. Filtered text has none; tables of numbers a few in a thousand."""
    repeated_text: tuple[float, float] = (0.04, 0.3)
    """Share of train in stretches that stand elsewhere in train too; deduplicated news and poems have up to 2 %, and
    of 18 % of documents twice it is 0.3."""
    leaked_text: tuple[float, float] = (0.05, 0.3)
    """Share of valid in stretches that stand in train too; of 50 rows of deduplicated news up to 4 %."""
    filling_ngrams: tuple[float, float] = (0.014, 0.3)
    """Share of the text in phrases of 13 units or more that many documents have; laws, full of formulas, have 0.9 %."""
    filling_source: tuple[float, float] = (0.1, 0.6)
    """The same of the text of one source."""
    contaminated: tuple[float, float] = (1e-9, 0.01)
    """Share of the texts that hold a stretch of an evaluation file: any at all is a warning."""
    drift: tuple[float, float] = (0.002, 0.2)
    """Bits beyond what documents dealt at random differ by. One bad shard of eight is 0.1 and more."""
    odd_characters: tuple[float, float] = (0.02, 0.5)
    """Share of rows with control, zero-width, private-use or lost characters; cleaned text has next to none."""
    mojibake: tuple[float, float] = (0.01, 0.2)
    """Share of rows with text in a wrong encoding."""
    html: tuple[float, float] = (0.025, 0.5)
    """Share of rows with 20 tags or entities or more; documentation on HTML itself stays below."""
    markup: tuple[float, float] = (0.1, 0.8)
    """Share of rows with any tag or attribute that only web pages have; a folder with documentation of Vue has 6 %."""
    literal_specials: tuple[float, float] = (0.005, 0.5)
    """Share of rows with a special token written out; only texts on language models have any."""
    not_canonical: tuple[float, float] = (0.05, 0.5)
    """Share of tokens that the tokenizer would not give again for their own text; shards without a manifest only."""
    ranks: tuple[int, ...] = (1, 2, 4, 8)
    """Numbers of data-parallel ranks that are tried."""
    batch: int = Field(8, ge=1)
    """Rows a step over all ranks, a multiple of each of ``ranks``."""
    scan: int = Field(64_000_000, ge=0)
    """Tokens of train that are looked through for copies of the sampled rows; 4 s."""

    @model_validator(mode="after")
    def _dealt(self) -> Self:
        if any(n < 1 or self.batch % n for n in self.ranks):
            raise ValueError(
                f"batch {self.batch} must be a multiple of each of ranks, {', '.join(map(str, self.ranks))}"
            )
        return self
