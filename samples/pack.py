"""Texts -> the bytes of a .jsonl, .jsonl.gz or .parquet file; the same bytes every time."""

import gzip
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def jsonl(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a line of JSON a record, UTF-8, each line closed."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def texts_jsonl(bundle: Mapping[str, str]) -> bytes:
    """Return records of one field, ``text``."""
    return jsonl([{"text": text} for text in bundle.values()])


def titled_jsonl(bundle: Mapping[str, str]) -> bytes:
    """Return records of ``title`` and ``text``."""
    return jsonl([{"title": title, "text": text} for title, text in bundle.items()])


def texts_jsonl_gz(bundle: Mapping[str, str]) -> bytes:
    """Return `texts_jsonl` as one gzip member without name and time."""
    return gzip.compress(texts_jsonl(bundle), mtime=0)


def texts_parquet(bundle: Mapping[str, str], row_group: int = 3) -> bytes:
    """Return a table of ``title`` (string) and ``text`` (large_string), ``row_group`` rows a group."""
    table = pa.table(
        {
            "title": pa.array(bundle.keys(), pa.string()),
            "text": pa.array(bundle.values(), pa.large_string()),
        }
    )
    sink = io.BytesIO()
    pq.write_table(
        table, sink, compression="zstd", use_dictionary=False, write_statistics=False, row_group_size=row_group
    )
    return sink.getvalue()
