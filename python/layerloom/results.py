# Written by scripts/python-results.mjs from the types of src/cli/printed.ts: `npm run docs:tables`.
"""Types of what the functions return. Numbers are typed as float, whole ones too."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = [
    "AdaptedModules",
    "AdapterSummary",
    "AnalysedModel",
    "Analysis",
    "AnalysisResult",
    "AnalysisResultShares",
    "BatchCost",
    "BatchDone",
    "Cell",
    "ComparedModel",
    "Comparison",
    "Conclusion",
    "Cost",
    "CostInPlace",
    "Derived",
    "DifferentTensor",
    "DiskNeed",
    "ElementDifferences",
    "ElementDifferencesFirst",
    "EvaluationCommands",
    "EvaluationCommandsCommands",
    "EvaluationDone",
    "EvaluationDoneFailed",
    "EvaluationDoneInPlace",
    "EvaluationDoneResults",
    "EvaluationDoneWeights",
    "EvaluationPlan",
    "EvaluationPlanFailed",
    "EvaluationPlanImpossible",
    "EvaluationPlanModels",
    "ExportedModel",
    "ExtractedTensor",
    "ExtractionResult",
    "FileIdentity",
    "FileState",
    "ForecastStep",
    "FoundByAnalysis",
    "FoundByAnalysisLanguage",
    "FoundByAnalysisTask",
    "FoundByLocation",
    "FoundModel",
    "HeldOutComparison",
    "HubRevision",
    "Imported",
    "ImportedFailed",
    "ImportedImported",
    "InspectedCheckpoint",
    "InspectedCheckpointArchitecture",
    "InspectedCheckpointLayers",
    "InspectedCheckpointShards",
    "Kept",
    "KeptChange",
    "KeptTensor",
    "KeyDifference",
    "LeftOutTensor",
    "LoadedOnce",
    "LoadingVerdict",
    "LoadingVerdictDtype",
    "MeasuredMerging",
    "MergeResult",
    "MergeResultKept",
    "MergeResultTransplanted",
    "MergesState",
    "MergesStateBytes",
    "MismatchedTensor",
    "OrderedModel",
    "OutputVerification",
    "Overlap",
    "OverlapPart",
    "PlannedBatch",
    "PlannedBatchMerge",
    "PlannedBatchRefused",
    "PlannedBatchRefusedError",
    "PlannedBatchStages",
    "PlannedBatchTasks",
    "PlannedBatchTasksFailed",
    "PlannedBatchTime",
    "PlannedBatchTimeMerging",
    "PlannedDownload",
    "PlannedDownloadModels",
    "PlannedInput",
    "PlannedInputAdapted",
    "PlannedTask",
    "PrintedExplanation",
    "PrintedPartition",
    "PrintedPartitionBase",
    "PrintedPartitionParameters",
    "PrintedPartitionParts",
    "PrintedPlan",
    "PrintedPlanArchitecture",
    "PrintedPlanFilesWithCopyOf",
    "PrintedPlanFilesWithText",
    "PrintedShard",
    "PrintedShardVerbatim",
    "PrintedTensor",
    "PrintedTensorPart",
    "ProposedSwap",
    "ProposedSwapKept",
    "QuantisationReport",
    "QuantisedOutput",
    "QuantisedOutputLayers",
    "RecomputedTiles",
    "RunStatus",
    "RunStatusLoss",
    "RunningRequests",
    "ScoreTable",
    "ScoreTables",
    "ScoresState",
    "ScoresStateTasks",
    "ScoringTime",
    "SearchDone",
    "SearchDoneProposal",
    "SearchPlan",
    "SearchPlanEvaluations",
    "SearchPlanMerges",
    "SearchPlanRefused",
    "SearchPlanTried",
    "ShardRecord",
    "SideFileDifference",
    "StoredAs",
    "StudyError",
    "StudyState",
    "TableColumn",
    "TableRow",
    "TensorAnalysis",
    "TensorComparison",
    "TopOverlap",
    "TopOverlapPart",
    "Totals",
    "TrainedModel",
    "TruncatedProduct",
    "VerifiedFile",
    "VerifiedInput",
    "WatchedStudy",
    "WeightsToBeLoaded",
    "WrittenReport",
    "WrittenTables",
]


class _PrintedPlan(TypedDict):
    shards: list[PrintedShard]
    layerloom: str
    """The version that made the plan."""
    method: str
    title: str
    recipe: dict[str, Any]
    """The method's parameters as used."""
    completeRecipe: dict[str, Any]
    """The whole recipe in YAML's spelling, which reproduces the same bytes: models (`./NAME`, `org/name@COMMIT`), nested recipes, layout, and values found in the models."""
    architecture: PrintedPlanArchitecture
    inputs: list[PlannedInput]
    """The merged models in the order of terms, then companions."""
    files: list[PrintedPlanFilesWithCopyOf | PrintedPlanFilesWithText]
    cost: Cost
    warnings: list[str]


class PrintedPlan(_PrintedPlan, total=False):
    form: Literal["adapter"]
    """Present for a LoRA adapter: one file and `adapter_config.json`."""
    allowNonFinite: Literal[True]
    """Present if NaN and infinity are computed with, not refused."""
    download: PlannedDownload
    """Weights missing when the plan was made."""


class _PrintedShard(TypedDict):
    tensors: list[PrintedTensor]
    file: str
    bytes: float


class PrintedShard(_PrintedShard, total=False):
    verbatim: PrintedShardVerbatim
    """The input file that this shard is, header included; the shard may be a link to it."""


class _PrintedTensor(TypedDict):
    expression: dict[str, Any]
    name: str
    dtype: Literal["BF16", "BOOL", "C64", "F16", "F32", "F4", "F64", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0", "I16", "I32", "I64", "I8", "U16", "U32", "U64", "U8"]
    shape: list[float]
    begin: float
    """Byte offsets in the shard's file."""
    end: float
    layer: float | None
    """Null outside the layers."""


class PrintedTensor(_PrintedTensor, total=False):
    part: PrintedTensorPart
    """The file's tensor that this is a part of; parts are contiguous."""


class PrintedTensorPart(TypedDict):
    name: str
    shape: list[float]


class PrintedShardVerbatim(TypedDict):
    input: float
    file: float


class PrintedPlanArchitecture(TypedDict):
    family: str
    naming: str
    layers: float


class _PlannedInput(TypedDict):
    role: str
    """`task`, `language`, `model`, `base`."""
    name: str
    path: str
    files: list[FileIdentity]


class PlannedInput(_PlannedInput, total=False):
    adapted: PlannedInputAdapted
    """For a base with an adapter; `path` joins both paths with a plus."""
    hub: HubRevision


class PlannedInputAdapted(TypedDict):
    base: FoundModel
    adapter: FoundModel
    config: str
    """SHA-256 of `adapter_config.json`, in hex."""


class _FoundModel(TypedDict):
    name: str
    """NAME of `NAME=PATH`, `org/name` from the hub cache, else the last part of the path."""
    path: str
    """Absolute; a directory or a file."""


class FoundModel(_FoundModel, total=False):
    hub: HubRevision


class _HubRevision(TypedDict):
    id: str
    """`org/name`."""
    revision: str
    """The commit, which names the snapshot's folder."""


class HubRevision(_HubRevision, total=False):
    inside: str
    """Path within the snapshot, if the model is not all of it."""


class _FileIdentity(TypedDict):
    path: str
    """Absolute."""
    bytes: float
    mtimeNs: str
    """mtime in nanoseconds, in decimal: a float64 would round it."""
    header: str
    """SHA-256 of all bytes before the data, in hex."""


class FileIdentity(_FileIdentity, total=False):
    content: str
    """The hub's hash, for files in the cache of ranges. It replaces mtime, which changes as bytes arrive; `mtimeNs` is then 0."""
    seen: FileState
    """Set once weights have been read."""


class FileState(TypedDict):
    ctimeNs: str
    """ctime in nanoseconds, in decimal. Every write updates it; so does adding or removing hard links."""
    links: float
    hash: str
    """Hex, of sampled blocks (`sampleIdentity`) or all bytes (`fullIdentity`)."""
    hashOf: Literal["bytes", "samples"]


class PrintedPlanFilesWithText(TypedDict):
    name: str
    text: str


class PrintedPlanFilesWithCopyOf(TypedDict):
    name: str
    copyOf: str


class Cost(TypedDict):
    bytesToRead: float
    """Input bytes. Headers count only for shards that are unchanged input files."""
    bytesToMeasure: float
    """Further input bytes to measure whole tensors (Gram matrices, thresholds, norms), one pass each, mostly from the page cache. Finding a threshold may take another pass."""
    bytesToWrite: float
    bytesCopied: float
    """Tensor bytes of the output that are copied or computed."""
    bytesComputed: float
    bytesVerbatim: float
    """Bytes of shards that are input files unchanged, which `--link hard` and `symbolic` do not write."""
    parameters: float


class PlannedDownload(TypedDict):
    bytes: float
    models: list[PlannedDownloadModels]
    """Incomplete models, in the order of the plan's inputs."""


class PlannedDownloadModels(TypedDict):
    model: str
    """`org/name@COMMIT`."""
    bytes: float
    of: float
    """Bytes of all its weight files."""


class _MergeResult(TypedDict):
    out: str
    """Absolute path of the output."""
    method: str
    recipe: dict[str, Any]
    shards: list[ShardRecord]
    bytesResumed: float
    """Bytes that an interrupted run had written and this run kept."""
    warnings: list[str]
    bytesRead: float
    """Input bytes read (without headers), and shard bytes written."""
    bytesWritten: float
    threads: float
    seconds: float


class MergeResult(_MergeResult, total=False):
    truncated: list[TruncatedProduct]
    """For an output adapter with a given rank: the sums that were truncated to this rank."""
    quantised: QuantisedOutput
    """For a quantised output, if the recipe names a base: how much of the change from the base survives."""
    kept: MergeResultKept
    """For all tensors, and for each."""
    transplanted: MergeResultTransplanted
    """Embedding rows after a change of tokenizer; `padding` rows have no token."""


class TruncatedProduct(TypedDict):
    parameter: str
    """The base's parameter that it changes."""
    layer: float | None
    """Null outside the layers."""
    rank: float
    """The rank after truncation, and the rank of the exact sum; for other formulas than sums, the full rank of the matrix."""
    exactRank: float
    norm: float
    """‖Δ‖_F of the exact sum."""
    error: float
    """‖Δ − B·A‖_F / ‖Δ‖_F, with factors as written; 0 if Δ is 0."""


class QuantisedOutput(TypedDict):
    scheme: str
    tensors: list[KeptTensor]
    """In plan order."""
    layers: list[QuantisedOutputLayers]
    all: KeptChange


class KeptTensor(TypedDict):
    name: str
    layer: float | None
    """Null outside the layers."""
    norm: float
    """‖δ‖ (Euclidean) before quantisation."""
    share: float | None
    """‖δ'‖ / ‖δ‖; null if nothing changed. Below 1 changes are lost, above 1 rounding adds noise."""
    cosine: float | None
    """Cosine of δ and δ'; 0 if nothing survives, null if nothing changed."""


class QuantisedOutputLayers(TypedDict):
    norm: float
    """‖δ‖ (Euclidean) before quantisation."""
    share: float | None
    """‖δ'‖ / ‖δ‖; null if nothing changed. Below 1 changes are lost, above 1 rounding adds noise."""
    cosine: float | None
    """Cosine of δ and δ'; 0 if nothing survives, null if nothing changed."""
    layer: float


class KeptChange(TypedDict):
    norm: float
    """‖δ‖ (Euclidean) before quantisation."""
    share: float | None
    """‖δ'‖ / ‖δ‖; null if nothing changed. Below 1 changes are lost, above 1 rounding adds noise."""
    cosine: float | None
    """Cosine of δ and δ'; 0 if nothing survives, null if nothing changed."""


class _ShardRecord(TypedDict):
    file: str
    bytes: float


class ShardRecord(_ShardRecord, total=False):
    sha256: str
    key: str
    """In the store, for a batch."""
    link: Literal["hard", "reflink", "symbolic"]
    """How it was linked to an input file or a store's shard, if not written."""


class MergeResultKept(TypedDict):
    all: Kept
    tensors: dict[str, Kept]


class Kept(TypedDict):
    rows: float
    """Number of rows of a matrix, along the dimension that the recipe's `rows` chooses; any other tensor counts as one row."""
    rowsKept: float
    parameters: float
    parametersKept: float


class MergeResultTransplanted(TypedDict):
    rows: float
    copied: float
    made: float
    zero: float
    padding: float


class PrintedExplanation(TypedDict):
    expression: dict[str, Any]
    tensor: str
    layer: float | None
    dtype: str
    shape: list[float]
    parameters: dict[str, Any]
    """For this tensor, with gradients and filters resolved."""
    words: str
    """The expression, over model names."""


class ExtractionResult(TypedDict):
    bytesRead: float
    """Input bytes read (without headers), and shard bytes written."""
    bytesWritten: float
    out: str
    """Absolute path of the output."""
    bytes: float
    """Bytes of `adapter_model.safetensors`."""
    warnings: list[str]
    threads: float
    seconds: float
    base: str
    expert: str
    rank: float
    """The requested rank; smaller matrices have less."""
    energy: float | None
    """The requested share of ‖Δ‖²_F, or null."""
    dtype: Literal["BF16", "F16", "F32", "model"]
    error: float
    """‖Δ − B·A‖_F / ‖Δ‖_F over the extracted tensors."""
    kept: float
    """Share of the whole model's ‖Δ‖²_F in the adapter, as low rank or whole."""
    lost: float
    """Share of the whole model's ‖Δ‖²_F in left-out tensors."""
    tensors: list[ExtractedTensor]
    saved: list[str]
    """Tensors saved whole (`modules_to_save`)."""
    unchanged: list[str]
    """Tensors that the expert did not change; not in the adapter."""
    leftOut: list[LeftOutTensor]


class ExtractedTensor(TypedDict):
    name: str
    layer: float | None
    """Null outside the layers."""
    role: Literal["attention", "embedding", "feedForward", "head", "other"]
    shape: list[float]
    """[out, in], as stored."""
    rank: float
    norm: float
    """‖Δ‖_F, with Δ = W_expert − W_base."""
    error: float
    """‖Δ − B·A‖_F / ‖Δ‖_F, for the factors as written."""
    energy: float
    """Share of ‖Δ‖²_F that B·A keeps: 1 − error²."""
    singularValues: list[float]
    """The `rank` largest singular values of Δ."""


class LeftOutTensor(TypedDict):
    name: str
    norm: float
    """‖Δ‖_F"""


class AnalysisResult(TypedDict):
    bytesRead: float
    seconds: float
    warnings: list[str]
    out: str
    """Absolute path of the directory."""
    files: list[str]
    """Names of the written files, in `out`."""
    experts: list[Analysis]
    shares: list[AnalysisResultShares]
    overlaps: list[Overlap]
    topOverlaps: list[TopOverlap]
    """Overlaps of the largest changes; empty unless `topShare` was given."""
    proposals: list[ProposedSwap]
    """Numbers of layers to swap for each pair of a task and a language expert; empty without roles."""
    advice: list[str]
    """Sentences that interpret the figures."""


class Analysis(TypedDict):
    name: str
    rows: Literal["input", "output"]
    threshold: float
    meanMav: float
    """Mean MAV over all finite rows of all tensors."""
    inverseMav: float | None
    """The expert's magnitude-adjusted weight (paper §5), 1 / meanMav; null if nothing changed."""
    base: AnalysedModel
    expert: AnalysedModel
    family: str
    layers: float
    tensors: dict[str, TensorAnalysis]


class AnalysedModel(TypedDict):
    name: str
    path: str
    files: list[FileIdentity]


class TensorAnalysis(TypedDict):
    fractionAbove: float
    """Share of finite rows with MAV above the threshold; 0 if none is finite."""
    rows: float
    parametersPerRow: float
    layer: float | None
    """Null outside the layers."""
    module: str
    """The name after `layers.N.`, or the whole name outside the layers."""
    meanMav: float
    """Mean MAV of finite rows, from float64 sums; 0 if none is finite."""
    nonFiniteRows: float
    """Rows with NaN or infinity; means and fractions exclude them."""


class _AnalysisResultShares(TypedDict):
    bottom: float
    """The first `bottom` layers."""
    middle: float
    top: float
    """The last `top` layers."""
    outside: float
    layers: list[float]
    """By layer, layer 0 first."""
    name: str


class AnalysisResultShares(_AnalysisResultShares, total=False):
    experts: list[list[float]]
    """For a mixture: by layer and expert; empty for layers without experts."""


class Overlap(TypedDict):
    experts: list[str]
    parts: list[OverlapPart]
    """Outside the layers first, then by layer."""
    whole: OverlapPart


class OverlapPart(TypedDict):
    layer: float | None
    """Null outside the layers, and for the whole model."""
    cosine: float | None
    """Cosine between the task vectors; null if one is 0 or the sums overflow."""
    signAgreement: float | None
    """Share of equal signs among the elements that both experts changed; null if there are no such elements."""
    rowsAboveInBoth: float
    """Share of rows, finite in both, above each expert's threshold in both."""


class TopOverlap(TypedDict):
    experts: list[str]
    topShare: float
    """Share of each matrix's rows that count as largest."""
    parts: list[TopOverlapPart]
    """Layer 0 first."""
    whole: TopOverlapPart


class TopOverlapPart(TypedDict):
    layer: float | None
    """Null for all layers together."""
    rows: float
    """Largest rows of each expert; fewer if one changed fewer rows."""
    inBoth: float
    """Rows among both experts' largest."""
    shared: float | None
    """inBoth / rows; null without rows."""
    chance: float | None
    """Expected share for random rows; null without rows."""


class ProposedSwap(TypedDict):
    command: str
    """The command as typed."""
    warnings: list[str]
    """A sentence for each concern."""
    task: str
    language: str
    bottom: float
    top: float
    bottomRange: list[float]
    """The smallest and largest counts that the experts' changes support."""
    topRange: list[float]
    kept: ProposedSwapKept
    """Share of each expert's largest changes in the layers that the swap takes from it."""
    common: float
    """Share of the largest changes in common: Σ over layers of the smaller share."""
    concerns: list[Literal["language in the middle", "no layers", "same layers"]]


class ProposedSwapKept(TypedDict):
    task: float
    language: float


class _Comparison(TypedDict):
    a: ComparedModel
    b: ComparedModel
    equal: bool
    """True if tensors, dtypes, shapes and bytes are the same."""
    sameValues: bool
    """True if tensors and shapes are the same, and all elements are equal numbers."""
    tensors: list[TensorComparison]
    """In A's order, then those only in B."""
    sideFiles: list[SideFileDifference]
    """`config.json`, tokenizer and other files beside the weights."""
    bytesRead: float
    """Bytes of weights read."""
    threads: float
    seconds: float
    warnings: list[str]


class Comparison(_Comparison, total=False):
    quantised: QuantisationReport
    """If requested: how much of the change survives quantisation of both models."""


class ComparedModel(TypedDict):
    name: str
    path: str
    """Absolute."""
    family: str
    layers: float
    tensors: float
    parameters: float
    """Elements of all tensors."""
    bytes: float
    """Bytes of all tensors."""


class TensorComparison(TypedDict):
    name: str
    layer: float | None
    """Null outside the layers."""
    module: str
    """The name after `layers.N.`, or the whole name outside the layers."""
    state: Literal["differs", "equal", "onlyInA", "onlyInB", "otherDtype", "otherShape", "sameValues"]
    a: StoredAs | None
    """Null if the model lacks the tensor."""
    b: StoredAs | None
    elements: float
    """From A, or from B if A lacks the tensor."""
    difference: ElementDifferences | None
    """Null if all bits are equal, or elements cannot be compared."""


class StoredAs(TypedDict):
    dtype: Literal["BF16", "BOOL", "C64", "F16", "F32", "F4", "F64", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0", "I16", "I32", "I64", "I8", "U16", "U32", "U64", "U8"]
    shape: list[float]
    file: str
    """Absolute."""


class ElementDifferences(TypedDict):
    differing: float | None
    """Elements that differ as numbers: +0 equals −0, NaN equals NaN. For dtypes that are not floating-point, elements whose bits differ. Null for elements smaller than a byte."""
    differingBits: float | None
    """Elements whose bits differ; null if the dtypes differ or elements are smaller than a byte."""
    nonFinite: float
    """Elements that are NaN or infinite in either model."""
    max: float | None
    """max |a − b|"""
    mean: float | None
    """Mean of |a − b|."""
    rms: float | None
    """√ of the mean of (a − b)²."""
    relative: float | None
    """‖a − b‖ / ‖a‖, Euclidean; also null if a is 0."""
    first: ElementDifferencesFirst
    """The first difference: in bits, or as a number if the dtypes differ."""


class ElementDifferencesFirst(TypedDict):
    index: float
    """In row-major order, from 0."""
    position: list[float]
    """By dimension."""


class SideFileDifference(TypedDict):
    name: str
    state: Literal["differs", "equal", "onlyInA", "onlyInB", "sameContent"]
    keys: list[KeyDifference]
    """Differing keys, if both files are JSON objects."""


class _KeyDifference(TypedDict):
    key: str
    """Dotted path, at most three keys."""


class KeyDifference(_KeyDifference, total=False):
    a: str | None
    """The value as JSON; null if the key is missing. Absent if longer than 200 characters."""
    b: str | None


class QuantisationReport(TypedDict):
    scheme: Literal["fp8-block", "int4", "int8", "mxfp4", "nvfp4"]
    block: list[float] | None
    """Rows and columns of blocks that share a scale; null for whole rows."""
    bytesRead: float
    """Input bytes read (without headers), and shard bytes written."""
    bytesWritten: float
    threads: float
    seconds: float
    tensors: list[KeptTensor]
    """In plan order."""
    layers: list[QuantisedOutputLayers]
    all: KeptChange


class OutputVerification(TypedDict):
    bytesRead: float
    """Input bytes read (without headers), and shard bytes written."""
    bytesWritten: float
    threads: float
    seconds: float
    out: str
    """Absolute path of the output."""
    layerloom: str | None
    """The version that wrote it; null without `layerloom.json`."""
    verdict: Literal["damaged", "intact", "intact-by-size"]
    intact: bool
    """True if nothing differs or is missing; false only for `damaged`."""
    structure: str | None
    """Why it cannot be opened as a model or adapter; null if it can."""
    files: list[VerifiedFile]
    unlisted: list[str]
    """Files, and folders as `NAME/`, that were not written with it; without caches of git and the hub."""
    againstInputs: RecomputedTiles | None
    """Null unless the output was compared with its inputs."""
    loading: LoadingVerdict | None
    """Verdict of the libraries that load it; null unless `loads` was given."""
    warnings: list[str]


class _VerifiedFile(TypedDict):
    file: str
    bytes: float | None
    """Null if missing."""
    state: Literal["different", "edited", "equal", "missing", "unrecorded"]
    """`equal`: by SHA-256 or, against the inputs, by bytes. `unrecorded`: only its size or name is known. `edited`: a model card, which may be edited."""


class VerifiedFile(_VerifiedFile, total=False):
    reason: str
    """A phrase that follows the file's name: what differs or is not recorded."""


class RecomputedTiles(TypedDict):
    share: float
    """Probability that a tile was checked, hence that a wrong one is found."""
    seed: float
    tiles: float
    """Number of tiles (about 8 MiB; 1 MiB in a sample); number and bytes of recomputed ones."""
    recomputed: float
    bytes: float
    different: list[DifferentTensor]
    inputs: list[VerifiedInput]


class DifferentTensor(TypedDict):
    file: str
    tensor: str | None
    """Null for the header."""
    at: float
    """File offset of the first difference found."""


class VerifiedInput(TypedDict):
    name: str
    path: str
    commit: str | None
    """The commit, for a hub model."""


class LoadingVerdict(TypedDict):
    loads: bool | None
    """Null if it could not be checked."""
    by: dict[str, str]
    """Versions of the libraries, by name."""
    loadedAs: str | None
    """The class that loads it."""
    missing: list[str]
    """The model's tensors missing in the files; a hundred at most, as all lists here."""
    unexpected: list[str]
    """Tensors in the files that the model does not have."""
    mismatched: list[MismatchedTensor]
    dtype: LoadingVerdictDtype | None
    """The configuration's dtype and the numbers of floating-point tensors by dtype, if no tensor has that dtype; else null."""
    reason: str | None
    """Why it cannot be loaded or checked."""


class MismatchedTensor(TypedDict):
    tensor: str
    stored: list[float]
    """Shape in the files."""
    model: list[float]
    """Shape in the model that the configuration describes."""


class LoadingVerdictDtype(TypedDict):
    said: str
    stored: dict[str, float]


class AdapterSummary(TypedDict):
    kind: Literal["adapter"]
    name: str
    path: str
    base: str | None
    rank: float
    alpha: float
    rsLora: bool
    tensors: float
    parameters: float
    bytes: float
    modules: list[AdaptedModules]
    replaced: list[str]


class AdaptedModules(TypedDict):
    module: str
    """The module without its layer: `self_attn.q_proj`."""
    layers: list[float]
    """Layers with the module; empty outside the layers."""
    rank: float
    alpha: float
    scale: float
    """s, the factor of B · A."""
    tensors: float
    parameters: float


class _InspectedCheckpoint(TypedDict):
    tensors: float
    parameters: float
    bytes: float
    name: str
    path: str
    architecture: InspectedCheckpointArchitecture
    dtypes: dict[str, Totals]
    shards: list[InspectedCheckpointShards]
    layers: list[InspectedCheckpointLayers]
    outside: dict[str, Totals]
    sideFiles: list[str]
    unread: list[str]
    warnings: list[str]


class InspectedCheckpoint(_InspectedCheckpoint, total=False):
    adapter: AdapterSummary


class _InspectedCheckpointArchitecture(TypedDict):
    family: str
    naming: Literal["huggingface", "meta"]
    layers: float
    stacks: list[str]
    known: bool
    unrecognised: list[str]


class InspectedCheckpointArchitecture(_InspectedCheckpointArchitecture, total=False):
    tied: bool


class Totals(TypedDict):
    tensors: float
    parameters: float
    bytes: float


class InspectedCheckpointShards(TypedDict):
    file: str
    bytes: float
    tensors: float


class InspectedCheckpointLayers(TypedDict):
    tensors: float
    parameters: float
    bytes: float
    layer: float


class PrintedPartition(TypedDict):
    layerloom: str
    format: Literal["layerloom-partition-1"]
    base: PrintedPartitionBase
    family: str
    """`model_type` of `config.json`."""
    layers: float
    """Number of layers."""
    stack: str
    """Prefix of layer numbers: `model.layers`."""
    found: FoundByAnalysis | FoundByLocation
    parts: PrintedPartitionParts
    linear: PrintedPartitionParts
    """A part's modules in layers whose weight is a matrix: LoRA's targets. For a mixture, attention only."""
    parameters: PrintedPartitionParameters
    """Numbers of elements."""


class PrintedPartitionBase(TypedDict):
    name: str
    path: str


class FoundByAnalysis(TypedDict):
    by: Literal["analysis"]
    language: FoundByAnalysisLanguage
    """The two experts, each with the file that holds its changes."""
    task: FoundByAnalysisTask
    granularity: Literal["layer", "module", "tensor"]
    others: Literal["both", "language", "neither", "task"] | None
    """The part of parameters outside the layers; null if the analysis decides."""
    norms: Literal["layer", "others"]


class FoundByAnalysisLanguage(TypedDict):
    name: str
    file: str


class FoundByAnalysisTask(TypedDict):
    name: str
    file: str


class FoundByLocation(TypedDict):
    by: Literal["location"]
    bottom: float
    top: float
    others: Literal["both", "language", "neither", "task"]
    """The part of parameters outside the layers."""
    norms: Literal["layer", "others"]


class PrintedPartitionParts(TypedDict):
    both: list[str]
    language: list[str]
    neither: list[str]
    task: list[str]


class PrintedPartitionParameters(TypedDict):
    both: float
    language: float
    neither: float
    task: float


class PlannedBatch(TypedDict):
    cost: BatchCost
    download: PlannedDownload
    """Weights of hub models to download."""
    disk: DiskNeed
    inPlace: CostInPlace
    """Cost of scoring merges in place, without writing them."""
    time: PlannedBatchTime
    stages: list[PlannedBatchStages]
    """The order in which merges are finished."""
    stamp: str
    """The value for `expect` in runs of the same version on the same experiment."""
    tasks: PlannedBatchTasks
    merges: list[PlannedBatchMerge]
    refused: list[PlannedBatchRefused]


class BatchCost(TypedDict):
    merges: float
    bytesPlain: float
    """Bytes of all merges, each written separately."""
    bytesDistinct: float
    """Bytes of the distinct shards."""
    bytesToWrite: float
    """Bytes of the missing shards."""
    bytesToRead: float
    """Input bytes to read, once a stage; excludes statistics."""
    bytesToMeasure: float
    """For statistics of whole models and tensors; excludes a further pass and sample for magnitudes."""
    bytesReadAgain: float
    """Part of `bytesToRead`, read by an earlier stage too: the price of finishing the first merges early."""
    bytesVerbatim: float
    """Bytes of linked input files."""
    shards: float
    shardsToWrite: float
    seconds: float
    """An estimate, for a disk of 1 GB/s."""


class DiskNeed(TypedDict):
    shards: float
    """Missing shards."""
    needed: float
    """Adds all bytes of copied merges."""
    free: float | None
    """Free on the store's file system; null if unknown."""


class CostInPlace(TypedDict):
    merges: float
    bytes: float
    """Bytes of computed tensors, and of whole merges without a donor."""
    place: str
    """Directory of these data."""
    bytesWritten: float
    """Bytes that writing the merges would take; a shard that several merges share counts once."""
    withoutDonor: float
    """Merges without a donor: written there, and removed."""


class PlannedBatchTime(TypedDict):
    merging: PlannedBatchTimeMerging | None
    """At the rate of an earlier run in the same directory or store; null without one."""
    scoring: ScoringTime | None


class PlannedBatchTimeMerging(TypedDict):
    seconds: float
    by: MeasuredMerging


class MeasuredMerging(TypedDict):
    directory: str
    """The experiment's directory."""
    bytesWritten: float
    bytesRead: float
    seconds: float


class ScoringTime(TypedDict):
    tasks: list[PlannedTask]
    jobs: float
    """Models scored at once."""
    seconds: float | None
    """With `jobs` models at once; null if a task was not measured."""
    measured: float
    """Results that were measured here."""


class PlannedTask(TypedDict):
    task: str
    models: float
    """Equal weights count once."""
    problems: float | None
    """Null if the task's size is unknown."""
    secondsPerProblem: float | None
    """With one model at once; null if not measured."""
    seconds: float | None


class PlannedBatchStages(TypedDict):
    merges: list[str]
    bytesToWrite: float


class PlannedBatchTasks(TypedDict):
    unchecked: list[str]
    """Tasks that only the harness knows, if it is not installed."""
    failed: list[PlannedBatchTasksFailed]


class PlannedBatchTasksFailed(TypedDict):
    task: str
    code: str
    message: str


class PlannedBatchMerge(TypedDict):
    bytes: float
    shards: float
    name: str
    """Stable, readable and unique: `swahili/math-1+swh-2/default`."""
    language: str
    """`all` for merges of no single language."""
    task: str | None
    """A name, or `soup`; null if the merge has none."""
    languageExpert: str | None
    method: str
    configuration: dict[str, Any]
    """Includes defaults."""


class PlannedBatchRefused(TypedDict):
    merge: str
    error: PlannedBatchRefusedError


class PlannedBatchRefusedError(TypedDict):
    code: str
    message: str


class _BatchDone(TypedDict):
    event: Literal["done"]
    failed: float
    bytesRead: float
    """Input bytes read (without headers), and shard bytes written."""
    bytesWritten: float
    threads: float
    seconds: float
    cost: BatchCost
    warnings: list[str]


class BatchDone(_BatchDone, total=False):
    next: str


class EvaluationPlan(TypedDict):
    directory: str
    models: list[EvaluationPlanModels]
    """Models with tasks that lack results, including merges that do not exist yet."""
    order: list[OrderedModel]
    """Existing models; equal weights once, unless all are scored again."""
    weights: WeightsToBeLoaded | None
    """Null if every model is loaded whole. Equal tensors in files of different origin count as different."""
    kept: float
    """Models with all results, and existing results."""
    there: float
    failed: list[EvaluationPlanFailed]
    """Models that cannot be read."""
    impossible: list[EvaluationPlanImpossible]
    """Tasks that cannot be run; tasks of a harness that is not installed."""
    unchecked: list[str]
    inPlace: CostInPlace | None
    """Null without `inPlace`."""
    tasks: list[PlannedTask]
    jobs: float
    """Models scored at once."""
    seconds: float | None
    """With `jobs` models at once; null if a task was not measured."""
    measured: float
    """Results that were measured here."""


class EvaluationPlanModels(TypedDict):
    name: str
    tasks: list[str]
    isThere: bool


class OrderedModel(TypedDict):
    name: str
    job: float
    """Index of the job that will score the model, from 0, if all models take equally long in a task."""
    bytes: float | None
    """Bytes of weights to load; null if unknown."""


class WeightsToBeLoaded(TypedDict):
    loaded: float
    ofModels: float
    whole: float
    """Models loaded whole, or only where tensors differ."""
    exchanged: float


class EvaluationPlanFailed(TypedDict):
    code: str
    message: str
    model: str


class EvaluationPlanImpossible(TypedDict):
    code: str
    message: str
    task: str


class EvaluationCommands(TypedDict):
    commands: list[EvaluationCommandsCommands]


class EvaluationCommandsCommands(TypedDict):
    model: str
    command: str


class Imported(TypedDict):
    directory: str
    imported: list[ImportedImported]
    failed: list[ImportedFailed]
    warnings: list[str]
    """Warnings about results that do not count, because their shots, seed or answer length differ."""


class ImportedImported(TypedDict):
    model: str
    task: str
    file: str


class ImportedFailed(TypedDict):
    file: str
    code: str
    message: str


class _EvaluationDone(TypedDict):
    event: Literal["done"]
    directory: str
    scored: list[str]
    """Models scored by this run; models with all results."""
    kept: list[str]
    results: EvaluationDoneResults
    """Results made by this run, and results that existed; one for each model and task."""
    failed: list[EvaluationDoneFailed]
    """Also tasks that could not be run for any model."""
    missing: list[str]
    """Merges that do not exist: pending or failed."""
    warnings: list[str]
    seconds: float
    weights: EvaluationDoneWeights
    """Bytes loaded by shared processes, and bytes of their models. Other processes do not report."""
    inPlace: EvaluationDoneInPlace | None
    """Number of merges that were scored in place, and bytes computed for them; null without `inPlace`."""


class EvaluationDone(_EvaluationDone, total=False):
    next: str


class EvaluationDoneResults(TypedDict):
    made: float
    there: float


class EvaluationDoneFailed(TypedDict):
    model: str
    code: str
    message: str


class EvaluationDoneWeights(TypedDict):
    loaded: float
    ofModels: float


class EvaluationDoneInPlace(TypedDict):
    merges: float
    bytes: float


class SearchPlan(TypedDict):
    language: str
    task: str
    strategy: Literal["descent", "halving"]
    """The strategy used: halving if the budget covers the whole grid."""
    pairs: list[str]
    configurations: float
    """Number of configurations."""
    rows: list[float]
    """Rows by which configurations are chosen, and the number of rows for the final comparison alone."""
    holdOut: float
    default: str
    """Name of the configuration that the choice is compared with."""
    grid: float
    """Problem-evaluations of all configurations on all problems, and the allowed number."""
    budget: float
    steps: list[ForecastStep]
    """The steps; figures are upper bounds."""
    evaluations: SearchPlanEvaluations
    """Upper bounds of the problem-evaluations of all steps and of the final comparison, within the budget."""
    tried: SearchPlanTried
    """Bounds of the numbers of scored configurations and of their merges."""
    merges: SearchPlanMerges
    first: list[str]
    """The first step's configurations, in the order of trial."""
    notTried: list[str]
    """The others, tried only if scores lead to them."""
    otherPairs: list[str]
    """Never tried, because they merge other pairs than the default."""
    cost: BatchCost
    """For the first step's merges: cost, weights to download, and merges that cannot be made."""
    download: PlannedDownload
    inPlace: CostInPlace
    """For the first step's merges: cost of scoring in place."""
    refused: list[SearchPlanRefused]


class ForecastStep(TypedDict):
    title: str
    """As the step's later `title`: `rung 2`."""
    limit: float
    """The row after the last one that configurations are scored on."""
    configurations: float | None
    """Number of configurations; null if scores decide it."""
    evaluations: float
    """Problem-evaluations that the step adds."""


class SearchPlanEvaluations(TypedDict):
    search: float
    heldOut: float


class SearchPlanTried(TypedDict):
    fewest: float
    most: float


class SearchPlanMerges(TypedDict):
    fewest: float
    most: float


class SearchPlanRefused(TypedDict):
    merge: str
    code: str
    message: str


class SearchDone(TypedDict):
    event: Literal["done"]
    strategy: Literal["descent", "halving"]
    seed: float
    budget: float
    """Problem-evaluations allowed and used, including the final comparison."""
    spent: float
    grid: float
    """Problem-evaluations of all configurations on all problems."""
    configurations: float
    """Number of configurations."""
    rows: list[float]
    """Rows by which configurations were chosen; the others were held out."""
    choice: str
    """Names of the chosen configuration and of the one it is compared with."""
    default: str
    heldOut: HeldOutComparison | None
    """The choice against the default on held-out problems; null if the default was chosen."""
    conclusion: Conclusion | None
    """The conclusion about the choice; null if the default was chosen."""
    isGain: bool
    """True if the choice is better than the default on held-out problems at the 5 % level."""
    recommended: str
    """The choice if it is better than the default, else the default."""
    failed: list[str]
    """Names of the configurations that could not be scored."""
    leftOut: list[str]
    """Names of configurations never scored: the budget did not cover them, or no descent reached them."""
    language: str
    task: str
    metric: str | None
    """`metric,filter` by which configurations were compared."""
    pairs: list[str]
    startedFromAnalysis: bool
    """True if an analysis said what to try first."""
    proposal: SearchDoneProposal | None
    """The configuration tried first because an analysis proposes it, with the number of pairs; null if the space contains no proposal."""
    configuration: dict[str, Any]
    """The parameters of the choice."""
    merges: list[str]
    """Names of the chosen configuration's merges."""
    out: str
    """Absolute path of the directory with the merges, `evaluations/`, `search.json` and `search.svg`."""
    warnings: list[str]


class HeldOutComparison(TypedDict):
    rows: list[float]
    metric: str
    """`metric,filter`"""
    n: float
    """Number of problems."""
    choice: float
    """Scores and their difference, in the task's own metric."""
    default: float
    difference: float
    higherIsBetter: bool
    interval: list[float] | None
    """95 % interval of the difference, if known."""
    p: float | None
    """Two-sided p-value; null without results by problem."""
    test: Literal["bootstrap", "mcnemar", "t"] | None
    estimand: str | None
    """The population that the difference describes: the searched pairs, on other problems like these."""


class Conclusion(TypedDict):
    verdict: Literal["at ceiling", "at floor", "better", "chosen among many", "not tested", "one of many", "too few problems", "within noise", "worse"]
    words: str
    """Used alone or after \"is\": `within noise`, `too few problems to say`."""
    evidence: list[str]
    """Figures and number of problems: `+2.4 points`, `higher is better`, `95 % interval −1.0 to +5.8`, `p = 0.190`, `250 problems`."""
    estimand: str | None
    """The population that the interval describes; null without an interval."""


class SearchDoneProposal(TypedDict):
    name: str
    pairs: float


class WrittenTables(TypedDict):
    out: str
    tables: list[str]
    """Table names, with the base if there are several: `llama/table-1`."""


class ScoreTables(TypedDict):
    tables: list[ScoreTable]


class _ScoreTable(TypedDict):
    id: str
    """The layout, with its subject if there are several: `table-1`, `table-2/swahili`, `table-1/belebele`."""
    title: str
    caption: str
    notes: list[str]
    derived: list[Derived]
    columns: list[TableColumn]
    rows: list[TableRow]
    refusals: list[str]
    """Messages about refused comparisons: results are not of the same problems."""


class ScoreTable(_ScoreTable, total=False):
    base: str
    """For tables of several bases: the base's name, or `mean` for the means over bases."""


class Derived(TypedDict):
    id: str
    label: str
    value: float
    digits: float


class TableColumn(TypedDict):
    id: str
    label: str
    kind: Literal["number", "text"]


class TableRow(TypedDict):
    id: str
    label: str
    cells: list[Cell | None]
    """Null: no such model, or not scored."""


class _Cell(TypedDict):
    value: float | str
    """A number on the scale shown (percent for shares, unless the table says otherwise), or a text in a column of texts."""
    digits: float
    """Number of decimals."""
    source: Literal["computed", "imported"]


class Cell(_Cell, total=False):
    n: float
    """Number of models summarised."""
    stderr: float
    """Standard error on the scale shown: over experts and problems for means, over problems for one model's score."""
    model: str
    """For minima, maxima and single models."""
    configuration: str
    """The chosen configuration's name in the experiment."""
    otherHalf: float
    """Score if chosen on one half of the problems and scored on the other, free of the luck of the choice."""
    interval: list[float]
    """95 % interval on the scale shown; includes the choice if the same problems chose the figure."""
    estimand: str
    """The population that standard error, interval and p describe: `task experts, language experts and problems like these`."""
    p: float
    mark: Literal["best"]
    """`best`: the best figure of its row."""
    flag: str
    """A doubt about the figure, in a sentence."""


class ExportedModel(TypedDict):
    out: str
    """Absolute."""
    file: str
    """Name of the GGUF file in `out`."""
    type: Literal["bf16", "f16", "f32", "iq4_nl", "iq4_xs", "q2_k", "q3_k_l", "q3_k_m", "q3_k_s", "q4_0", "q4_1", "q4_k_m", "q4_k_s", "q5_0", "q5_1", "q5_k_m", "q5_k_s", "q6_k", "q8_0"]
    bytes: float
    loaded: LoadedOnce | None
    """Null if no llama.cpp program to load it was found."""
    seconds: float
    warnings: list[str]


class LoadedOnce(TypedDict):
    program: str
    version: str | None
    """As the program reports it; null if it does not."""
    text: str
    """The output: prompt and continuation."""
    generated: bool
    """False if nothing followed the prompt; a model may end there."""


class WatchedStudy(TypedDict):
    out: str
    """Absolute path of the page."""
    pages: float
    """Number of times it was written."""
    state: StudyState
    """The last state seen."""


class StudyState(TypedDict):
    title: str
    directory: str
    at: str
    """ISO 8601."""
    training: list[RunStatus] | None
    """Null without a training."""
    merges: MergesState | None
    """Null before a batch has begun."""
    scores: ScoresState | None
    """Null for an experiment without `evaluate:`."""
    errors: list[StudyError]
    unread: list[str]
    """Files that could not be read this time; figures from them are those of the last successful reading."""


class _RunStatus(TypedDict):
    name: str
    directory: str
    role: Literal["joint", "language", "math-sft", "task"]
    language: str | None
    state: Literal["absent", "diverged", "finished", "foreign", "running", "unfinished"]
    expected: float
    """Number of models planned."""
    models: list[TrainedModel]
    """Also incomplete ones."""
    loss: RunStatusLoss | None
    """Means of the first and the last fifth of the logged losses; null without logged losses."""


class RunStatus(_RunStatus, total=False):
    problem: str
    """The problem and its remedy."""


class _TrainedModel(TypedDict):
    name: str
    """The name in an experiment: run and steps."""
    step: float
    model: str
    """The model as commands take it: a directory, or the base with an adapter."""


class TrainedModel(_TrainedModel, total=False):
    problem: str
    """Why it cannot be used, if so."""


class RunStatusLoss(TypedDict):
    first: float
    last: float


class MergesState(TypedDict):
    isWorking: bool
    bytes: MergesStateBytes | None
    """Bytes written by the last run, and the number planned."""
    secondsLeft: float | None
    """Seconds until all merges are made; null if unknown, 0 if nothing is left."""
    done: float
    failed: float
    total: float


class MergesStateBytes(TypedDict):
    written: float
    total: float


class ScoresState(TypedDict):
    tasks: list[ScoresStateTasks]
    running: list[RunningRequests]
    secondsLeft: float | None
    done: float
    failed: float
    total: float


class ScoresStateTasks(TypedDict):
    done: float
    failed: float
    total: float
    task: str


class RunningRequests(TypedDict):
    model: str
    done: float
    total: float


class StudyError(TypedDict):
    at: str | None
    """ISO 8601; null if unknown."""
    what: str
    message: str


class WrittenReport(TypedDict):
    out: str
    """Absolute path of the file."""
    bytes: float
    merges: float
    results: float
    """Number of results shown."""
    tables: float
    csv: str | None
    """Absolute path of the CSV; null without one."""
    pictures: list[ScoreTable]
    """Figures of pictures that are not in the tables of `scoreTables`."""
    warnings: list[str]
