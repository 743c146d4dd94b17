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
    """The version of layerloom that made the plan."""
    method: str
    title: str
    recipe: dict[str, Any]
    """The method's parameters as used, in the recipe's spelling."""
    completeRecipe: dict[str, Any]
    """The whole recipe, which makes the same bytes again: with models (`./NAME`, `org/name@COMMIT`), nested recipes, layout, and what was found from the models. In YAML's spelling."""
    architecture: PrintedPlanArchitecture
    inputs: list[PlannedInput]
    """The merged models in the order of terms, then companions."""
    files: list[PrintedPlanFilesWithCopyOf | PrintedPlanFilesWithText]
    cost: Cost
    warnings: list[str]


class PrintedPlan(_PrintedPlan, total=False):
    form: Literal["adapter"]
    """Where the output is a LoRA adapter: one file and `adapter_config.json`, in the place of shards and `config.json`."""
    allowNonFinite: Literal[True]
    """Present where values that are no finite numbers are computed with, instead of refused."""
    download: PlannedDownload
    """Weights to fetch from the hub before the plan can be carried out, as of when it was made."""


class _PrintedShard(TypedDict):
    tensors: list[PrintedTensor]
    file: str
    bytes: float


class PrintedShard(_PrintedShard, total=False):
    verbatim: PrintedShardVerbatim
    """The input file whose tensors are this shard's, all of them and no others: the shard is that file, header and all, and may be a link to it."""


class _PrintedTensor(TypedDict):
    expression: dict[str, Any]
    name: str
    dtype: Literal["BF16", "BOOL", "C64", "F16", "F32", "F4", "F64", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0", "I16", "I32", "I64", "I8", "U16", "U32", "U64", "U8"]
    shape: list[float]
    begin: float
    """In its shard, from the start of the file."""
    end: float
    layer: float | None
    """Layer number, or null outside the layers."""


class PrintedTensor(_PrintedTensor, total=False):
    part: PrintedTensorPart
    """The tensor of the file that it is a part of, where it is none by itself: its parts stand one behind the other."""


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
    """Where it is a base with an adapter; `path` is then those of both, with a plus between them."""
    hub: HubRevision


class PlannedInputAdapted(TypedDict):
    base: FoundModel
    adapter: FoundModel
    config: str
    """SHA-256 of `adapter_config.json`, in hexadecimal."""


class _FoundModel(TypedDict):
    name: str
    """NAME of `NAME=PATH`, `org/name` from the hub cache, else the last part of its path."""
    path: str
    """Absolute: a directory or one file."""


class FoundModel(_FoundModel, total=False):
    hub: HubRevision


class _HubRevision(TypedDict):
    id: str
    """`org/name`."""
    revision: str
    """The commit: the name of the snapshot's folder."""


class HubRevision(_HubRevision, total=False):
    inside: str
    """The path within the snapshot, where the model is not the whole of it."""


class _FileIdentity(TypedDict):
    path: str
    """Absolute."""
    bytes: float
    mtimeNs: str
    """Modification time in nanoseconds, in decimal: beyond what a float64 holds exactly."""
    header: str
    """SHA-256 of all bytes before the data, in hexadecimal."""


class FileIdentity(_FileIdentity, total=False):
    content: str
    """The hash of its content that the hub states, for a file of the cache of ranges. It identifies the file in place of times, which change as more of its bytes arrive; `mtimeNs` is then 0."""
    seen: FileState
    """Present where weights have been read since, and numbers taken from them."""


class FileState(TypedDict):
    ctimeNs: str
    """Status-change time in nanoseconds, in decimal: the system sets it at every write, and when links are made or removed."""
    links: float
    """Hard links."""
    hash: str
    """A hash of the content, in hexadecimal, and of what it was taken: of sampled blocks (`sampleIdentity`) or of all bytes (`fullIdentity`)."""
    hashOf: Literal["bytes", "samples"]


class PrintedPlanFilesWithText(TypedDict):
    name: str
    text: str


class PrintedPlanFilesWithCopyOf(TypedDict):
    name: str
    copyOf: str


class Cost(TypedDict):
    bytesToRead: float
    """Bytes of inputs; headers aside, except of shards that are input files as they stand."""
    bytesToMeasure: float
    """Bytes of inputs read before that for statistics of whole tensors (Gram matrices, thresholds, norms), one pass for each. Mostly from the page cache, since a tensor is measured and then computed; finding a threshold may take another pass."""
    bytesToWrite: float
    """Bytes of shards."""
    bytesCopied: float
    """Tensor bytes of the output that are copied, and that are computed."""
    bytesComputed: float
    bytesVerbatim: float
    """Bytes of shards that are input files as they stand, which `--link hard` and `symbolic` do not write."""
    parameters: float


class PlannedDownload(TypedDict):
    bytes: float
    models: list[PlannedDownloadModels]
    """Models of which something is missing, in the order of the plan's inputs."""


class PlannedDownloadModels(TypedDict):
    model: str
    """`org/name@COMMIT`."""
    bytes: float
    of: float
    """Bytes of all its files of weights."""


class _MergeResult(TypedDict):
    bytesWritten: float
    threads: float
    seconds: float
    out: str
    """Absolute path of the output."""
    method: str
    recipe: dict[str, Any]
    shards: list[ShardRecord]
    bytesResumed: float
    """Bytes of shards that an interrupted run had written and this run kept."""
    warnings: list[str]
    bytesRead: float
    """Bytes of inputs (without headers) that this run read, and of shards that it wrote."""


class MergeResult(_MergeResult, total=False):
    truncated: list[TruncatedProduct]
    """Of an adapter with a rank: the averages that were truncated to it."""
    quantised: QuantisedOutput
    """Of an output that is quantised, where the recipe names a base: what is left of the change from it."""
    kept: MergeResultKept
    """Rows and parameters that stay the expert's, in all and of each tensor."""
    transplanted: MergeResultTransplanted
    """Rows of the embeddings where the model got another tokenizer: of its own, made of others, 0, and without a token."""


class TruncatedProduct(TypedDict):
    parameter: str
    """The parameter of the base that it changes."""
    layer: float | None
    """Layer number, or null outside the layers."""
    rank: float
    """Its rank, and that of the exact sum's factors; of a formula that is no sum of products, the most that a matrix of its shape has."""
    exactRank: float
    norm: float
    """‖Δ‖_F of the exact sum."""
    error: float
    """‖Δ − B·A‖_F / ‖Δ‖_F, of the factors as they are written; 0 where Δ is 0."""


class QuantisedOutput(TypedDict):
    scheme: str
    """As recipes name it."""
    tensors: list[KeptTensor]
    """In the order of the plan."""
    layers: list[QuantisedOutputLayers]
    """The same of each layer, in order."""
    all: KeptChange
    """The same of all together."""


class KeptTensor(TypedDict):
    name: str
    layer: float | None
    """Layer number, or null outside the layers."""
    norm: float
    """‖δ‖, Euclidean, of the change before."""
    share: float | None
    """‖δ'‖ / ‖δ‖; null where nothing changed. Below 1 changes are lost, above 1 rounding adds more than there was."""
    cosine: float | None
    """δ · δ' / (‖δ‖ ‖δ'‖): how much of what is left points where the change did. 0 where nothing is left; null as above."""


class QuantisedOutputLayers(TypedDict):
    norm: float
    """‖δ‖, Euclidean, of the change before."""
    share: float | None
    """‖δ'‖ / ‖δ‖; null where nothing changed. Below 1 changes are lost, above 1 rounding adds more than there was."""
    cosine: float | None
    """δ · δ' / (‖δ‖ ‖δ'‖): how much of what is left points where the change did. 0 where nothing is left; null as above."""
    layer: float


class KeptChange(TypedDict):
    norm: float
    """‖δ‖, Euclidean, of the change before."""
    share: float | None
    """‖δ'‖ / ‖δ‖; null where nothing changed. Below 1 changes are lost, above 1 rounding adds more than there was."""
    cosine: float | None
    """δ · δ' / (‖δ‖ ‖δ'‖): how much of what is left points where the change did. 0 where nothing is left; null as above."""


class _ShardRecord(TypedDict):
    file: str
    bytes: float


class ShardRecord(_ShardRecord, total=False):
    sha256: str
    key: str
    """Key of the shard in the store, for a batch."""
    link: Literal["hard", "reflink", "symbolic"]
    """The way in which it was linked to an input file or to the store's shard, if it was not written."""


class MergeResultKept(TypedDict):
    all: Kept
    tensors: dict[str, Kept]


class Kept(TypedDict):
    rows: float
    """Rows of matrices by the recipe's sense; any other tensor counts as one row."""
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
    """The method's parameters for it, gradients and filters resolved."""
    words: str
    """In words, over the models' names; and as it is planned, over byte ranges."""


class ExtractionResult(TypedDict):
    bytesRead: float
    """Bytes of inputs (without headers) that this run read, and of shards that it wrote."""
    out: str
    """Absolute path of the output."""
    bytes: float
    """Bytes of `adapter_model.safetensors`."""
    warnings: list[str]
    bytesWritten: float
    threads: float
    seconds: float
    base: str
    expert: str
    rank: float
    """The rank asked for, which smaller matrices do not reach."""
    energy: float | None
    """The share of ‖Δ‖²_F that each rank was to keep; null without."""
    dtype: Literal["BF16", "F16", "F32", "model"]
    error: float
    """‖Δ − B·A‖_F / ‖Δ‖_F over the extracted tensors."""
    kept: float
    """Share of the whole model's ‖Δ‖²_F that the adapter keeps, in low rank or whole."""
    lost: float
    """Share of the whole model's ‖Δ‖²_F that is of left-out tensors."""
    tensors: list[ExtractedTensor]
    saved: list[str]
    """Tensors that the adapter has whole (`modules_to_save`)."""
    unchanged: list[str]
    """Tensors that the expert has not changed; the adapter leaves them out."""
    leftOut: list[LeftOutTensor]


class ExtractedTensor(TypedDict):
    name: str
    layer: float | None
    """Layer number, or null outside the layers."""
    role: Literal["attention", "embedding", "feedForward", "head", "other"]
    shape: list[float]
    """[out, in], as stored."""
    rank: float
    norm: float
    """‖Δ‖_F of the change Δ = W_expert − W_base."""
    error: float
    """‖Δ − B·A‖_F / ‖Δ‖_F, of the factors as they are written."""
    energy: float
    """Share of ‖Δ‖²_F that B·A keeps: 1 − error²."""
    singularValues: list[float]
    """The largest singular values of Δ, as many as the rank."""


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
    """Overlaps of the largest changes; none where no share of them was asked for."""
    proposals: list[ProposedSwap]
    """Numbers of layers to swap for each pair of a task and a language expert; none without roles."""
    advice: list[str]
    """Sentences on what the figures say."""


class Analysis(TypedDict):
    name: str
    rows: Literal["input", "output"]
    threshold: float
    meanMav: float
    """Mean MAV over all finite rows of all tensors, each row with the same weight."""
    inverseMav: float | None
    """The expert's magnitude-adjusted weight (paper §5), 1 / meanMav; null where nothing changed."""
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
    """Share of the finite rows whose MAV is above the threshold; 0 where no row is finite."""
    rows: float
    parametersPerRow: float
    layer: float | None
    """Layer number, or null outside the layers."""
    module: str
    """The name after `layers.N.`, or the whole name outside the layers."""
    meanMav: float
    """Mean of the finite rows' MAV, from float64 sums; 0 where no row is finite."""
    nonFiniteRows: float
    """Number of rows with a NaN or an infinity; means and fractions exclude them."""


class _AnalysisResultShares(TypedDict):
    bottom: float
    """The first `bottom` layers."""
    middle: float
    top: float
    """The last `top` layers."""
    outside: float
    """Tensors outside the layers."""
    layers: list[float]
    """Share of each layer, layer 0 first."""
    name: str


class AnalysisResultShares(_AnalysisResultShares, total=False):
    experts: list[list[float]]
    """Of a mixture: share of each expert of each layer, layer 0 and expert 0 first; a layer without experts has none."""


class Overlap(TypedDict):
    experts: list[str]
    parts: list[OverlapPart]
    """Outside the layers first, then layer 0 to the last."""
    whole: OverlapPart


class OverlapPart(TypedDict):
    layer: float | None
    """Layer number; null for the part outside the layers, and for the whole model."""
    cosine: float | None
    """Cosine of the angle between the task vectors; null where one is 0, or products of changes overflow float32."""
    signAgreement: float | None
    """Share, of the elements that both changed, whose changes have the same sign; null where there are none."""
    rowsAboveInBoth: float
    """Share of the rows that are finite in both whose MAV is above its expert's threshold in both."""


class TopOverlap(TypedDict):
    experts: list[str]
    topShare: float
    """Share of the rows of each matrix that count as its largest changes."""
    parts: list[TopOverlapPart]
    """Layer 0 first."""
    whole: TopOverlapPart


class TopOverlapPart(TypedDict):
    layer: float | None
    """Layer number; null for all layers together."""
    rows: float
    """Rows of the largest MAV of each expert; of the one that has fewer, where it changed fewer rows."""
    inBoth: float
    """Those that are the same rows."""
    shared: float | None
    """inBoth / rows; null without rows."""
    chance: float | None
    """The share that rows drawn at random would have in common; null without rows."""


class ProposedSwap(TypedDict):
    command: str
    """As to be typed."""
    warnings: list[str]
    """A sentence for each of its concerns."""
    task: str
    language: str
    bottom: float
    top: float
    bottomRange: list[float]
    """The fewest and the most bottom layers that the experts' changes speak for."""
    topRange: list[float]
    kept: ProposedSwapKept
    """Share of each expert's largest changes that are in the layers that the swap takes from it."""
    common: float
    """Share of the largest changes that both experts have in the same layers: Σ of the smaller share of each layer."""
    concerns: list[Literal["language in the middle", "no layers", "same layers"]]


class ProposedSwapKept(TypedDict):
    task: float
    language: float


class _Comparison(TypedDict):
    a: ComparedModel
    b: ComparedModel
    equal: bool
    """True if both have the same tensors with the same dtypes, shapes and bytes."""
    sameValues: bool
    """True if both have the same tensors with the same shapes, and every element is the same number."""
    tensors: list[TensorComparison]
    """In the order of A, then those that only B has."""
    sideFiles: list[SideFileDifference]
    """`config.json`, tokenizer and other files beside the weights."""
    bytesRead: float
    """Bytes of weights that were read."""
    threads: float
    seconds: float
    warnings: list[str]


class Comparison(_Comparison, total=False):
    quantised: QuantisationReport
    """Where it was asked for: how much of the change is left once both models are quantised."""


class ComparedModel(TypedDict):
    name: str
    path: str
    """Absolute."""
    family: str
    layers: float
    """Number of layers."""
    tensors: float
    parameters: float
    """Elements of all tensors."""
    bytes: float
    """Bytes of all tensors."""


class TensorComparison(TypedDict):
    name: str
    layer: float | None
    """Layer number, or null outside the layers."""
    module: str
    """The name after `layers.N.`, or the whole name outside the layers."""
    state: Literal["differs", "equal", "onlyInA", "onlyInB", "otherDtype", "otherShape", "sameValues"]
    a: StoredAs | None
    """Null in the model that lacks the tensor."""
    b: StoredAs | None
    elements: float
    """Number of elements: A's, or B's where A lacks the tensor."""
    difference: ElementDifferences | None
    """Null where no element differs in its bits, and where elements cannot be compared."""


class StoredAs(TypedDict):
    dtype: Literal["BF16", "BOOL", "C64", "F16", "F32", "F4", "F64", "F6_E2M3", "F6_E3M2", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0", "I16", "I32", "I64", "I8", "U16", "U32", "U64", "U8"]
    shape: list[float]
    file: str
    """Absolute."""


class ElementDifferences(TypedDict):
    differing: float | None
    """Elements that differ as numbers: +0 equals −0, and NaN equals NaN. Of dtypes that are not floating: whose bits differ. Null for elements of less than a byte."""
    differingBits: float | None
    """Elements whose bits differ; null where the dtypes do, and for elements of less than a byte."""
    nonFinite: float
    """Elements that are NaN or infinite in A or in B."""
    max: float | None
    """max |a − b|"""
    mean: float | None
    """Mean of |a − b|."""
    rms: float | None
    """√ of the mean of (a − b)²."""
    relative: float | None
    """‖a − b‖ / ‖a‖ in the Euclidean norm; also null where a is 0."""
    first: ElementDifferencesFirst
    """The first element that differs: in its bits, or as a number where the dtypes differ."""


class ElementDifferencesFirst(TypedDict):
    index: float
    """In row-major order, from 0 on."""
    position: list[float]
    """An index for each dimension."""


class SideFileDifference(TypedDict):
    name: str
    state: Literal["differs", "equal", "onlyInA", "onlyInB", "sameContent"]
    keys: list[KeyDifference]
    """Keys that differ, of files that hold a JSON object in both models."""


class _KeyDifference(TypedDict):
    key: str
    """Dotted path, of at most three keys."""


class KeyDifference(_KeyDifference, total=False):
    a: str | None
    """The value as JSON; null where the file has no such key. Values of more than 200 characters are left out."""
    b: str | None


class QuantisationReport(TypedDict):
    scheme: Literal["fp8-block", "int4", "int8", "mxfp4", "nvfp4"]
    """As recipes name it."""
    block: list[float] | None
    """Rows and columns of the blocks that share a scale; null for whole rows."""
    bytesRead: float
    """Bytes of inputs (without headers) that this run read, and of shards that it wrote."""
    bytesWritten: float
    threads: float
    seconds: float
    tensors: list[KeptTensor]
    """In the order of the plan."""
    layers: list[QuantisedOutputLayers]
    """The same of each layer, in order."""
    all: KeptChange
    """The same of all together."""


class OutputVerification(TypedDict):
    bytesRead: float
    """Bytes of inputs (without headers) that this run read, and of shards that it wrote."""
    bytesWritten: float
    threads: float
    seconds: float
    out: str
    """Absolute path of the output."""
    layerloom: str | None
    """The version that wrote it; null where it has no `layerloom.json`."""
    verdict: Literal["damaged", "intact", "intact-by-size"]
    intact: bool
    """True if nothing was found that differs or is missing, and false of `damaged` alone."""
    structure: str | None
    """Why it cannot be opened as a model or an adapter; null where it can."""
    files: list[VerifiedFile]
    unlisted: list[str]
    """What is there and was not written with it: files, and folders as `NAME/`. Caches of git and of the hub are left out."""
    againstInputs: RecomputedTiles | None
    """Null unless the output was compared with its inputs."""
    loading: LoadingVerdict | None
    """The verdict of libraries that load it; null unless `loads` was asked for."""
    warnings: list[str]


class _VerifiedFile(TypedDict):
    file: str
    bytes: float | None
    """Null where it is missing."""
    state: Literal["different", "edited", "equal", "missing", "unrecorded"]
    """`equal` by SHA-256 or, against the inputs, by its bytes; `unrecorded` where only its size, or nothing but its name, is known; `edited` for a model card, which may be."""


class VerifiedFile(_VerifiedFile, total=False):
    reason: str
    """A phrase that follows the file's name: what differs, or is not recorded."""


class RecomputedTiles(TypedDict):
    share: float
    """The probability with which a tile was taken, and so with which one that is wrong is found."""
    seed: float
    tiles: float
    """Tiles of the output, of about 8 MiB, of a sample 1 MiB, those that were computed again, and their bytes."""
    recomputed: float
    bytes: float
    different: list[DifferentTensor]
    inputs: list[VerifiedInput]
    """What they were computed from."""


class DifferentTensor(TypedDict):
    file: str
    tensor: str | None
    """Null for the header of the file."""
    at: float
    """Where in the file the first byte that differs was found."""


class VerifiedInput(TypedDict):
    name: str
    path: str
    commit: str | None
    """The commit that it is, of a model of the hub."""


class LoadingVerdict(TypedDict):
    loads: bool | None
    """Null where it could not be checked."""
    by: dict[str, str]
    """Versions of the libraries that say so, by name."""
    loadedAs: str | None
    """The class that it is loaded as."""
    missing: list[str]
    """Tensors of the model that no file has: a hundred at most, as all lists here."""
    unexpected: list[str]
    """Tensors of the files that the model does not have."""
    mismatched: list[MismatchedTensor]
    dtype: LoadingVerdictDtype | None
    """The dtype that the configuration says, and the numbers of floating tensors by dtype, where none has it."""
    reason: str | None
    """Why it cannot be loaded, or could not be checked."""


class MismatchedTensor(TypedDict):
    tensor: str
    stored: list[float]
    """The shape in the files."""
    model: list[float]
    """The shape in the model that the configuration describes."""


class LoadingVerdictDtype(TypedDict):
    said: str
    stored: dict[str, float]


class AdapterSummary(TypedDict):
    kind: Literal["adapter"]
    name: str
    path: str
    base: str | None
    """The base that its configuration names."""
    rank: float
    alpha: float
    rsLora: bool
    tensors: float
    parameters: float
    bytes: float
    modules: list[AdaptedModules]
    replaced: list[str]
    """Parameters of the base that it replaces by its own."""


class AdaptedModules(TypedDict):
    module: str
    """The module without its layer: `self_attn.q_proj`."""
    layers: list[float]
    """Numbers of layers that have it; none outside the layers."""
    rank: float
    alpha: float
    scale: float
    """s, by which B · A is multiplied."""
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
    """Tensors outside the layers, by role."""
    sideFiles: list[str]
    unread: list[str]
    """Files of weights beside those that are read."""
    warnings: list[str]


class InspectedCheckpoint(_InspectedCheckpoint, total=False):
    adapter: AdapterSummary


class _InspectedCheckpointArchitecture(TypedDict):
    family: str
    naming: Literal["huggingface", "meta"]
    layers: float
    stacks: list[str]
    known: bool
    """True if every tensor's role is known."""
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
    """Version of layerloom."""
    format: Literal["layerloom-partition-1"]
    base: PrintedPartitionBase
    family: str
    """`model_type` of `config.json`."""
    layers: float
    """L."""
    stack: str
    """The prefix of the layers' numbers: `model.layers`."""
    found: FoundByAnalysis | FoundByLocation
    parts: PrintedPartitionParts
    linear: PrintedPartitionParts
    """Modules of a part inside the layers whose weight is a matrix: what LoRA adapts. Of a mixture, attention only."""
    parameters: PrintedPartitionParameters
    """Numbers of parameters (elements)."""


class PrintedPartitionBase(TypedDict):
    name: str
    path: str


class FoundByAnalysis(TypedDict):
    by: Literal["analysis"]
    language: FoundByAnalysisLanguage
    """The experts' names, and the files that their changes were read from."""
    task: FoundByAnalysisTask
    granularity: Literal["layer", "module", "tensor"]
    others: Literal["both", "language", "neither", "task"] | None
    """The part of what is outside the layers; null where the analysis decides."""
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
    """The part of what is outside the layers."""
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
    """Weights of models of the hub that are needed and not here."""
    disk: DiskNeed
    inPlace: CostInPlace
    """Of merges that are not written: what scoring them in place makes."""
    time: PlannedBatchTime
    stages: list[PlannedBatchStages]
    """The order in which merges are finished."""
    stamp: str
    """What runs of the same version on the same experiment are to `expect`."""
    tasks: PlannedBatchTasks
    merges: list[PlannedBatchMerge]
    refused: list[PlannedBatchRefused]


class BatchCost(TypedDict):
    merges: float
    bytesPlain: float
    """Bytes to write if each merge were written separately."""
    bytesDistinct: float
    """Bytes of the distinct shards."""
    bytesToWrite: float
    """Bytes of the distinct shards that are not in the store yet."""
    bytesToRead: float
    """Input bytes to read, each once for all outputs of a stage that depend on it; statistics excluded."""
    bytesToMeasure: float
    """Input bytes to read besides, for statistics of whole models and tensors. Finding a magnitude may take a further pass and a sample, which are not counted."""
    bytesReadAgain: float
    """Of them, those that another stage reads too: the price of finishing the first merges early."""
    bytesVerbatim: float
    """Bytes of input files that are linked as shards."""
    shards: float
    shardsToWrite: float
    seconds: float
    """An estimate, for a disk of 1 GB/s."""


class DiskNeed(TypedDict):
    shards: float
    """Bytes of shards that are not in the store yet."""
    needed: float
    """These, and of merges that are copies all their bytes too."""
    free: float | None
    """Free bytes of the store's file system; null where it does not say."""


class CostInPlace(TypedDict):
    merges: float
    bytes: float
    """Bytes of the tensors that are computed, and of merges without a donor."""
    place: str
    """Directory in which they are while the merges are scored."""
    bytesWritten: float
    """Bytes of the distinct shards that the merges have if they are written."""
    withoutDonor: float
    """Number of merges that no model can stand in for: they are written to that directory, and removed."""


class PlannedBatchTime(TypedDict):
    merging: PlannedBatchTimeMerging | None
    """At the rate of an earlier run over the same directory or store; null without one."""
    scoring: ScoringTime | None


class PlannedBatchTimeMerging(TypedDict):
    seconds: float
    by: MeasuredMerging


class MeasuredMerging(TypedDict):
    directory: str
    """Directory of its experiment."""
    bytesWritten: float
    bytesRead: float
    seconds: float


class ScoringTime(TypedDict):
    tasks: list[PlannedTask]
    jobs: float
    """Models that are scored at once."""
    seconds: float | None
    """Seconds of all, so many models at once; null where a task was not measured."""
    measured: float
    """Results that were measured here."""


class PlannedTask(TypedDict):
    task: str
    models: float
    """Number of those models, of equal weights one."""
    problems: float | None
    """Problems of all of them; null where no result tells how many the task has."""
    secondsPerProblem: float | None
    """Seconds of one problem and of all, one model at once; null where none was measured."""
    seconds: float | None


class PlannedBatchStages(TypedDict):
    merges: list[str]
    bytesToWrite: float


class PlannedBatchTasks(TypedDict):
    unchecked: list[str]
    """Tasks that only the harness knows, where it is not installed."""
    failed: list[PlannedBatchTasksFailed]


class PlannedBatchTasksFailed(TypedDict):
    task: str
    code: str
    message: str


class PlannedBatchMerge(TypedDict):
    bytes: float
    shards: float
    """Number of its shards."""
    name: str
    """Stable, readable and unique: `swahili/math-1+swh-2/default`."""
    language: str
    """The language; `all` for merges of no single language (a soup of all of them, a reverted task expert)."""
    task: str | None
    """The task expert's name, or `soup`; null if the merge has none."""
    languageExpert: str | None
    method: str
    configuration: dict[str, Any]
    """The method's parameters, including the defaults of its schema."""


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
    """Bytes of inputs (without headers) that this run read, and of shards that it wrote."""
    bytesWritten: float
    threads: float
    seconds: float
    cost: BatchCost
    warnings: list[str]


class BatchDone(_BatchDone, total=False):
    next: str
    """The command that comes next."""


class EvaluationPlan(TypedDict):
    directory: str
    models: list[EvaluationPlanModels]
    """Models with tasks that have no results. A merge that is not there yet is scored once a batch has made it."""
    order: list[OrderedModel]
    """The models that are there, of equal weights one unless all are scored again, in the order in which they are scored."""
    weights: WeightsToBeLoaded | None
    """Null where no process holds models: each is loaded whole, by a process of its own or a server. Tensors that happen to be equal in files of different origin count as different."""
    kept: float
    """Number of models that have all their results, and of results that there are."""
    there: float
    failed: list[EvaluationPlanFailed]
    """Models that cannot be read."""
    impossible: list[EvaluationPlanImpossible]
    """Tasks that cannot be run, and those whose names only the harness knows where it is not installed."""
    unchecked: list[str]
    inPlace: CostInPlace | None
    """What scoring merges makes that are not written; null without `inPlace`."""
    tasks: list[PlannedTask]
    jobs: float
    """Models that are scored at once."""
    seconds: float | None
    """Seconds of all, so many models at once; null where a task was not measured."""
    measured: float
    """Results that were measured here."""


class EvaluationPlanModels(TypedDict):
    name: str
    tasks: list[str]
    isThere: bool


class OrderedModel(TypedDict):
    name: str
    job: float
    """Number of the job that scores it, from 0 on, if all models take equally long in a task."""
    bytes: float | None
    """Bytes of weights to load for it; null where that is not known."""


class WeightsToBeLoaded(TypedDict):
    loaded: float
    """Bytes that they load, and of all models."""
    ofModels: float
    whole: float
    """Number of models that are loaded whole, and of which only what differs is; of the others it is not known."""
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
    """Results that were imported but are no scores of this experiment, since it asks for other shots, another seed or longest answer."""


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
    """Models that this run scored, and those whose results were there."""
    kept: list[str]
    results: EvaluationDoneResults
    """Results, one for each model and task: that this run made, and that were there of the models it was about."""
    failed: list[EvaluationDoneFailed]
    """Models, and tasks that could not be run for any model."""
    missing: list[str]
    """Merges that do not exist: pending or failed."""
    warnings: list[str]
    seconds: float
    weights: EvaluationDoneWeights
    """Bytes of weights that processes loaded which score one model after another, and that their models have. Nothing else tells what it loads."""
    inPlace: EvaluationDoneInPlace | None
    """Merges that were there to be scored in place, and bytes that were made for them; null without `inPlace`."""


class EvaluationDone(_EvaluationDone, total=False):
    next: str
    """The command that comes next."""


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
    """The strategy that is taken: halving where the budget covers the whole grid."""
    pairs: list[str]
    configurations: float
    """Number of configurations."""
    rows: list[float]
    """Rows that configurations are chosen by, and number of those that only the final comparison uses."""
    holdOut: float
    default: str
    """Name of the configuration that the choice is compared with."""
    grid: float
    """Problem-evaluations that all configurations would cost on all problems, and that are allowed."""
    budget: float
    steps: list[ForecastStep]
    """The steps, each figure the most that it may come to."""
    evaluations: SearchPlanEvaluations
    """Problem-evaluations of all steps and of the final comparison: the most, within the budget."""
    tried: SearchPlanTried
    """Configurations that are scored, and their merges: the fewest and the most."""
    merges: SearchPlanMerges
    first: list[str]
    """Names of the configurations of the first step, in the order in which they are tried."""
    notTried: list[str]
    """Names of the others: not tried, unless scores of the first lead to them."""
    otherPairs: list[str]
    """Names of those that are never tried, since they merge other pairs than the default."""
    cost: BatchCost
    """Of the first step's merges: their cost, weights that are not here, and those that cannot be made."""
    download: PlannedDownload
    inPlace: CostInPlace
    """Of the first step's merges, what scoring them in place makes."""
    refused: list[SearchPlanRefused]


class ForecastStep(TypedDict):
    title: str
    """`rung 2`, as in the step's `title` later."""
    limit: float
    """The rows after the last one that configurations are scored on."""
    configurations: float | None
    """Number of configurations; null where scores decide."""
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
    """Problem-evaluations allowed and used, the final comparison's among them."""
    spent: float
    grid: float
    """Problem-evaluations that all configurations would cost on all problems."""
    configurations: float
    """Number of configurations."""
    rows: list[float]
    """Rows that configurations were chosen by; the others were held out."""
    choice: str
    """Names of the chosen configuration and of the one it is compared with."""
    default: str
    heldOut: HeldOutComparison | None
    """The choice against the default on held-out problems; null if the default was chosen."""
    conclusion: Conclusion | None
    """What the comparison says of the choice; null if the default was chosen."""
    isGain: bool
    """True if the choice is better than the default on held-out problems at the 5 % level."""
    recommended: str
    """The configuration to take: the choice if it is better than the default, else the default."""
    failed: list[str]
    """Names of the configurations that could not be scored."""
    leftOut: list[str]
    """Names of those that were never scored: the budget did not cover them, or no descent came by them."""
    language: str
    task: str
    metric: str | None
    """`metric,filter` that configurations were compared by."""
    pairs: list[str]
    startedFromAnalysis: bool
    """True if an analysis said what to try first."""
    proposal: SearchDoneProposal | None
    """The configuration that came first since an analysis proposes it, and of how many pairs; null where the space has none that it proposes."""
    configuration: dict[str, Any]
    """The parameters of the choice."""
    merges: list[str]
    """Names of the chosen configuration's merges."""
    out: str
    """Absolute path of the directory, in which are the merges, `evaluations/`, `search.json` and `search.svg`."""
    warnings: list[str]


class HeldOutComparison(TypedDict):
    rows: list[float]
    metric: str
    """`metric,filter`"""
    n: float
    """Number of problems."""
    choice: float
    """Scores of the two, and their difference; in the task's own metric."""
    default: float
    difference: float
    higherIsBetter: bool
    interval: list[float] | None
    """95 % interval of the difference; null where there is none."""
    p: float | None
    """Two-sided p-value of one test; null where results by problem are missing."""
    test: Literal["bootstrap", "mcnemar", "t"] | None
    estimand: str | None
    """What interval and p are about: the pairs that were searched, on other problems like these."""


class Conclusion(TypedDict):
    verdict: Literal["at ceiling", "at floor", "better", "chosen among many", "not tested", "one of many", "too few problems", "within noise", "worse"]
    words: str
    """The verdict as it stands behind \"is\" or alone: `within noise`, `too few problems to say`."""
    evidence: list[str]
    """Figures and number of problems: `+2.4 points`, `higher is better`, `95 % interval −1.0 to +5.8`, `p = 0.190`, `250 problems`."""
    estimand: str | None
    """What the interval is about; null where none is shown."""


class SearchDoneProposal(TypedDict):
    name: str
    pairs: float


class WrittenTables(TypedDict):
    out: str
    tables: list[str]
    """Their names, with the base where there are several: `llama/table-1`."""


class ScoreTables(TypedDict):
    tables: list[ScoreTable]


class _ScoreTable(TypedDict):
    id: str
    """The layout, and its subject where an experiment has several: `table-1`, `table-2/swahili`, `table-1/belebele`."""
    title: str
    caption: str
    notes: list[str]
    derived: list[Derived]
    columns: list[TableColumn]
    rows: list[TableRow]
    refusals: list[str]
    """Messages of comparisons that could not be made, since results are not of the same problems."""


class ScoreTable(_ScoreTable, total=False):
    base: str
    """Of tables of several bases: the name of the base, or `mean` for the means over them."""


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
    """One for each column. Null: there is no such model, or it was not scored."""


class _Cell(TypedDict):
    value: float | str
    """On the scale shown (percent for shares, unless the table says otherwise); a text in columns of texts."""
    digits: float
    """Number of digits behind the point."""
    source: Literal["computed", "imported"]


class Cell(_Cell, total=False):
    n: float
    """Number of models that it summarises."""
    stderr: float
    """Standard error on the scale shown: over experts and problems for means, over problems for the score of one model."""
    model: str
    """The model whose score it is, for minima, maxima and single models."""
    configuration: str
    """The configuration that was chosen, by its name in the experiment."""
    otherHalf: float
    """For the best of several configurations: its score when chosen on one half of the problems and scored on the other, without the luck that helped to choose it."""
    interval: list[float]
    """95 % interval on the scale shown; of a figure that was chosen by the same problems, the choice included."""
    estimand: str
    """What standard error, interval and p-value are about: `task experts, language experts and problems like these`."""
    p: float
    mark: Literal["best"]
    """`best`: the best figure of its row."""
    flag: str
    """A doubt about the figure, in a sentence."""


class ExportedModel(TypedDict):
    out: str
    """Absolute."""
    file: str
    """Name of the GGUF file in it."""
    type: Literal["bf16", "f16", "f32", "iq4_nl", "iq4_xs", "q2_k", "q3_k_l", "q3_k_m", "q3_k_s", "q4_0", "q4_1", "q4_k_m", "q4_k_s", "q5_0", "q5_1", "q5_k_m", "q5_k_s", "q6_k", "q8_0"]
    bytes: float
    loaded: LoadedOnce | None
    """Null where no program of llama.cpp was found that generates: the file was not loaded."""
    seconds: float
    warnings: list[str]


class LoadedOnce(TypedDict):
    program: str
    version: str | None
    """As the program calls itself; null where it does not say."""
    text: str
    """What it printed: the prompt, and how the model continues it."""
    generated: bool
    """False where nothing came behind the prompt: a model may end there."""


class WatchedStudy(TypedDict):
    out: str
    """Absolute path of the page."""
    pages: float
    """Number of times that it was written."""
    state: StudyState
    """The study as it was last seen."""


class StudyState(TypedDict):
    title: str
    directory: str
    at: str
    """ISO 8601."""
    training: list[RunStatus] | None
    """Null where no training was given."""
    merges: MergesState | None
    """Null before a batch has begun."""
    scores: ScoresState | None
    """Null for an experiment without `evaluate:`."""
    errors: list[StudyError]
    unread: list[str]
    """What could not be read at this moment: figures are then those of the moment before."""


class _RunStatus(TypedDict):
    name: str
    directory: str
    role: Literal["joint", "language", "math-sft", "task"]
    language: str | None
    state: Literal["absent", "diverged", "finished", "foreign", "running", "unfinished"]
    expected: float
    """Models that the run was to leave."""
    models: list[TrainedModel]
    """Those that are there, whole or not."""
    loss: RunStatusLoss | None
    """Means of the first and the last fifth of the logged losses; null where none were logged."""


class RunStatus(_RunStatus, total=False):
    problem: str
    """What is wrong with it, and what to do."""


class _TrainedModel(TypedDict):
    name: str
    """Its name in an experiment: the run's and its steps."""
    step: float
    model: str
    """The model as commands take it: a directory, or the base with an adapter."""


class TrainedModel(_TrainedModel, total=False):
    problem: str
    """Why it cannot be used; absent for a model that can."""


class RunStatusLoss(TypedDict):
    first: float
    last: float


class MergesState(TypedDict):
    isWorking: bool
    bytes: MergesStateBytes | None
    """Bytes that the last run has written, of those that it is to write."""
    secondsLeft: float | None
    """Seconds until all are made; null where nothing tells, 0 where nothing is left."""
    done: float
    failed: float
    total: float


class MergesStateBytes(TypedDict):
    written: float
    total: float


class ScoresState(TypedDict):
    tasks: list[ScoresStateTasks]
    running: list[RunningRequests]
    """Models that are being scored, with their requests."""
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
    """ISO 8601; null where nothing tells."""
    what: str
    message: str


class WrittenReport(TypedDict):
    out: str
    """Absolute path of the file."""
    bytes: float
    merges: float
    results: float
    """Number of results that the page shows."""
    tables: float
    csv: str | None
    """Absolute path of the CSV; null without one."""
    pictures: list[ScoreTable]
    """The numbers of the page's pictures that are in none of the tables of `scoreTables`."""
    warnings: list[str]
