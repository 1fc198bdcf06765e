"""Failures by the words they leave in a log, with the cause and the next thing to try.

The words are those of MindSpore 2.10.0, seen by provoking each failure or read in its libraries, of CANN's error
codes, and of our own commands.
"""

import re
from dataclasses import dataclass

_REBUILD = "write the shards again in one run of one script, or with mrprep build"


@dataclass(frozen=True, slots=True)
class Failure:
    """A kind of failure."""

    name: str
    words: re.Pattern[str]
    """Found in a line of a log when this is what happened."""
    cause: str
    advice: str


def _failure(name: str, words: str, cause: str, advice: str) -> Failure:
    return Failure(name, re.compile(words), cause, advice)


OUT_OF_MEMORY = _failure(
    "out of memory",
    r"[Mm]emory (?:is not|isn't|not) enough|Out of memory[:,]|(?:Error:|CUDA|NPU) out of memory"
    r"|[Aa]llocate [\w ]*memory failed|Failed to allocate memory|Cannot allocate memory|std::bad_alloc|EL0004|oom-kill"
    r"|(?:^|[\s.])MemoryError(?::|\s*$)|Unable to allocate [\d.]+ .iB|Out Of Memory"
    r"|was killed by SIGKILL|^\s*Killed\s*$|exit(?:ed)?(?: with)? (?:exit )?code:? (?:-9|137)\b",
    "memory ran out",
    "",
)
"""Cause and advice depend on when it happened: see `log`."""

FAILURES = (
    _failure(
        "missing index",
        r"The input: .*\.db is not exists|[Cc]ount total rows failed|meta file: .* (?:does not exist|is not exist)",
        "a shard has no index: NAME.mindrecord opens only with NAME.mindrecord.db beside it",
        "copy the .db files too (whole folders, not single files); mrprep verify BUILD names what is missing",
    ),
    _failure(
        "renamed shard",
        r"can ?not match.*[Pp]lease do not rename|DB file can not match file",
        "a shard or its index was renamed: the name is written inside both",
        "give both their old names back, or move the folder and leave the names alone",
    ),
    _failure(
        "page too small",
        r"[Pp]age size: \d+ is too small|Page size too small",
        "a row is larger than a page of the MindRecord file",
        "call set_page_size with more than the largest row (a power of 2, at most 256 MiB); mrprep build does it",
    ),
    _failure(
        "stale output",
        r"mindrecord files already exist|MRMOpenError",
        "files of an earlier run stand where the writer wants to write",
        "write to an empty folder, or pass overwrite=True when the old files may go",
    ),
    _failure(
        "rows dropped for their type",
        r"th data is wrong, data type: .* is not matched|no valid data which can be written by 'write_raw_data'",
        "FileWriter left out rows whose arrays are not of the schema's type, with a warning only",
        "cast to the schema's type (numpy int32, not int64, uint16 or a list) and compare the row count afterwards",
    ),
    _failure(
        "shards that do not fit together",
        r"the metadata of mindrecord file: .* is different from others",
        "shards of different schema or page size are read together",
        f"read one set of shards at a time, or {_REBUILD}",
    ),
    _failure(
        "damaged shard",
        r"\[Internal ERROR\] Failed to read file",
        "a shard ends too early: a copy or a write was cut short",
        "compare sizes and checksums with the source (mrprep verify BUILD) and copy the file again",
    ),
    _failure(
        "shard not found",
        r"The file .* does not exist or permission denied",
        "a shard is not where the reader looks, or this user may not read it",
        "check the path on every node, and the rights: FileWriter leaves files that only their owner reads",
    ),
    _failure(
        "column not found",
        r"column name: .* can not found in schema",
        "the reader asks for a column that the shards do not have",
        "mrprep show BUILD names the columns; flat shards hold input_ids, mcore ones input_ids, labels, loss_mask, ...",
    ),
    _failure(
        "numpy 2",
        r"compiled using NumPy 1\.x|numpy\.core\.multiarray failed to import|_ARRAY_API not found",
        "MindSpore 2.10 is compiled against NumPy 1, and NumPy 2 is installed; msrun then calls good jobs failed",
        "pip install 'numpy<2' 'pyarrow<26'",
    ),
    _failure(
        "pyarrow wants numpy 2",
        r"[Pp]y[Aa]rrow.*requires NumPy 2|requires NumPy 2\.0 or newer",
        "pyarrow 26 needs NumPy 2, MindSpore 2.10 needs NumPy 1",
        "pip install 'pyarrow<26' 'numpy<2'",
    ),
    _failure(
        "hyper-parallel missing",
        r"No module named '?hyper_parallel",
        "mindformers 2.x needs hyper-parallel, which is not on PyPI",
        "install it from its repository, or use mindformers 1.8.0 for its datasets alone",
    ),
    _failure(
        "ranks did not meet",
        r"some processes in the cluster are not successfully spawned|MS_SCHED_PORT is occupied"
        r"|Failed to connect to the meta server(?! node url)|Address already in use",
        "not all ranks reached the scheduler: its port is taken, a rank died at its start, or addresses differ",
        "give another --master_port, run one job a node at a time, and read the rank log that ends first",
    ),
    _failure(
        "rank timed out",
        r"is timed out\. It may exit with exception|Timed out node list|setting MS_NODE_TIMEOUT"
        r"|rank-\d+ (?:hangs|gives no sign)|EI0002|EI0006",
        "a rank stopped answering and the others waited for it until the time-out",
        "read the log of the rank that is named or that ends first: its error came earlier and is the cause",
    ),
    _failure(
        "rank table",
        r"EI0004|[Rr]ank ?table.*(?:invalid|not exist)|set env 'RANK_TABLE_FILE'",
        "the table of ranks and addresses does not fit this cluster",
        "leave RANK_TABLE_FILE unset and let msrun deal the ranks, or compare its addresses with those of the nodes",
    ),
    _failure(
        "CANN not found",
        r"lib(?:ascendcl|hccl\w*|runtime|acl_\w+|graph|ge_\w+)\.so[.\d]*: cannot open shared object file"
        r"|version .* of .*(?:Ascend AI|CANN).* (?:does not match|is not match)",
        "MindSpore does not find the libraries of CANN, or those of another version",
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh, and compare versions: mrprep doctor names those wanted",
    ),
    _failure(
        "compile cache",
        r"[Uu]se (?:the )?compil(?:e|ation) cache .*correctness risk",
        "a graph was taken from the compile cache, which gave wrong results without a word: the loss stays at ln V",
        "unset MS_COMPILER_CACHE_ENABLE and enable_compile_cache, delete the cache, and train again",
    ),
    _failure(
        "weights of another shape",
        r"should have the same shape as .* in the argument 'parameter_dict'|size mismatch for [\w.]+: copying a param",
        "the checkpoint's arrays do not have the model's shapes, most often another vocabulary size",
        "compare vocab_size of the two configs; mrprep train --init-from names both sizes",
    ),
    _failure(
        "weights not loaded",
        r"\d+ parameters in the 'net' are not loaded",
        "names in the checkpoint do not match the model: those parameters keep their random start",
        "compare the names, then run both models on the same ids and compare the logits before training",
    ),
    _failure(
        "damaged checkpoint",
        r"Failed to read the checkpoint file .* may be corrupted",
        "a checkpoint was cut short or is of another format",
        "take the one before it; mrprep train does that by itself",
    ),
    _failure(
        "model type exists",
        r"is already used by a transformers config",
        "a model type of that name is registered already, or the same module was imported by two paths",
        "choose another model_type, and register it once, under one import path",
    ),
    _failure(
        "no kernel on this device",
        r"Select CPU operator\[\w+\] fail|The kernel \w+ unregistered|Unsupported op \[",
        "the device has no kernel for this operator or this type: bfloat16 and fused operators need Ascend",
        "train in float32 on the CPU (--amp O0), or run on Ascend",
    ),
    _failure(
        "id outside the vocabulary",
        r"'input_indices' should be in the range",
        "a token id is not below the model's vocab_size: other tokenizer, or damaged rows",
        "mrprep audit BUILD compares ids with the vocabulary and names the rows",
    ),
    _failure(
        "graph too deep",
        r"[Ee]xceed.*(?:recursion|call) depth|recursion limit",
        "the graph compiler went deeper than its limit, which 24 layers do",
        "ms.set_recursion_limit(20000); mrprep train sets it",
    ),
    _failure(
        "cell method without self",
        r"The parameters number of the function is \d+, but the number of provided arguments is",
        "a function of the graph gets another number of arguments; a first argument not called self does that too",
        "call the first argument of every method of a Cell self",
    ),
    _failure(
        "loss not finite",
        r"\bloss\b[\"']?[\s:=\[(]{1,6}(?:[Nn]a[Nn]|-?[Ii]nf|None|null)\b|loss (?:is )?not finite|\bloss is nan\b",
        "the loss became NaN or infinite",
        "look at the rows of that step first (mrprep train keeps them in incidents/), then at loss scale and warm-up",
    ),
    _failure(
        "disk full",
        r"No space left on device|\[Errno 28\]",
        "the disk is full",
        "free some or name another disk; mrprep's commands then go on from where they stopped",
    ),
    OUT_OF_MEMORY,
)
