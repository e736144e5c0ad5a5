"""Metadata of openb: clock, caveats, metrics, files."""

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile

FIRST_POD_CLOCK = Clock(
    "openb.first_pod",
    epoch=(
        "creation of the first pod of the default list, at an unpublished time; all variants"
        " except gpushare20, 60, 80, 100 and multigpu"
    ),
    zone="unknown",
    true_parts="order and differences",
    fake_parts="none: date, weekday and hour are unknown",
    documented_in="publisher: README of cluster-trace-gpu-v2023 (unit); measured: the origin, on the files",
)

SECOND_POD_CLOCK = Clock(
    "openb.second_pod",
    epoch=(
        "creation of the second pod of the default list, 427,061 s after the first; variants"
        " gpushare20, 60, 80 and 100"
    ),
    zone="unknown",
    true_parts="order and differences",
    fake_parts="none: date, weekday and hour are unknown",
    documented_in="measured: on the files",
)

NOT_A_SNAPSHOT = Caveat(
    "openb.not_a_snapshot",
    "wrong result",
    summary="pod_phase is each pod's last phase, not the state of the cluster at one time.",
    what_goes_wrong=(
        "pod_phase is the last phase of each pod during the 149.3 days, not the state of the"
        " cluster at one time. Adding up all Running pods suggests that 54 % of the GPUs are in"
        " use; over [scheduled_time, deletion_time), all pods together never use more than 65.6 of"
        " 6,212 GPUs."
    ),
    what_to_do="Compute use over time from scheduled_time and deletion_time.",
    documented_in="measured: on the default list",
)

PODS_ARE_NOT_ALL_LOAD = Caveat(
    "openb.pods_are_not_all_load",
    "wrong result",
    summary="The pods cannot be the whole load: they hold 1 % of the GPUs, and yet 12 % of them never start.",
    what_goes_wrong=(
        "The pods hold at most 65.6 of 6,212 GPUs at a time. Yet 861 of 7,064 GPU pods, 12.2 %, never start,"
        " and others wait. Most of the cluster must have been used by pods that are not in the list."
    ),
    what_to_do="Do not read the free GPUs as idle, or the load as that of the cluster.",
    documented_in="measured: on the default list and the list of nodes with GPUs",
)

TIMES_FROM_FIRST_POD = Caveat(
    "openb.times_from_first_pod",
    "limited result",
    summary="Only 19 pods are created before day 110: rates over the whole span are close to 0.",
    what_goes_wrong=(
        "Times are seconds from the first pod, up to 12,902,960. Only 19 of the 8,152 pods are"
        " created before day 110, so rates over the whole time span are close to 0."
    ),
    what_to_do="Exclude the first 110 days from rates, and do not report hours of the day.",
    documented_in="publisher: README (unit: seconds); measured: on the default list",
)

TIME_ORIGIN_SHIFTED = Caveat(
    "openb.time_origin_shifted",
    "wrong result",
    summary="Times of gpushare20, 60, 80 and 100 start 427,061 s later than in other variants.",
    what_goes_wrong=(
        "In gpushare20, 60, 80 and 100, zero is the second pod of the default list, 427,061 s"
        " later than in the other variants."
    ),
    what_to_do="Add 427,061 before you compare their times with other variants.",
    documented_in="measured: on the files",
)

PENDING_HAS_NO_SCHEDULE = Caveat(
    "openb.pending_has_no_schedule",
    "limited result",
    summary="897 Pending pods were never scheduled and have no wait.",
    what_goes_wrong=(
        "scheduled_time is empty exactly for the 897 Pending pods. Only the other pods have a"
        " wait, so mean waits exclude pods that were never scheduled."
    ),
    what_to_do="Report the number of never scheduled pods together with waits.",
    documented_in="measured: on the default list",
)

PENDING_IS_WITHDRAWN = Caveat(
    "openb.pending_is_withdrawn",
    "wrong result",
    summary="Pending GPU pods were withdrawn after a median of 96 s; they did not wait until the end.",
    what_goes_wrong=(
        "Pending pods do not wait until the trace ends. The 861 with GPUs are deleted after a median of 96 s;"
        " all 897 after a median of 94 s, a mean of 189 s and at most 11,717 s."
    ),
    what_to_do="Call them withdrawn, not starved.",
    documented_in="measured: on the default list",
)

DELETION_NEVER_EMPTY = Caveat(
    "openb.deletion_never_empty",
    "wrong result",
    summary="34 pods still ran when the trace ended; they hold 56 % of the GPU-hours.",
    what_goes_wrong=(
        "Every pod has a deletion_time, even a Running one. 34 Running pods, 32 of them with GPUs,"
        " end at the last instant of the trace, 12,902,960, where the observation ends and not the"
        " pod. These 32 hold 28,890.9 of the 51,470.7 GPU-hours that all pods hold, 56.1 %."
    ),
    what_to_do=(
        "Treat these 34 lifetimes as lower bounds, and give GPU-hours with and without them. Percentiles of"
        " unified.run_cdf include them."
    ),
    documented_in="measured: on the default list; that the trace ends there is an inference",
)

RUNNING_OUTCOME_UNKNOWN = Caveat(
    "openb.running_outcome_unknown",
    "wrong result",
    summary="A pod deleted while Running neither succeeded nor failed: its outcome is unknown.",
    what_goes_wrong=(
        "A pod that was Running when it was deleted neither succeeded nor failed within the trace."
        " Its lifetime is complete, but its outcome is unknown."
    ),
    what_to_do="Map only Succeeded to success and only Failed to failure.",
    documented_in="publisher: README (the four phases); the reading is an inference",
)

COUNT_GPU_PODS = Caveat(
    "openb.count_gpu_pods",
    "limited result",
    summary="7,064 of the 8,152 pods use GPUs: name the population of a figure.",
    what_goes_wrong=(
        "7,064 of the 8,152 pods use GPUs. 1,870 pods failed, 1,869 of them with GPUs. The mean"
        " gpu_milli is 809.4 over all GPU pods and 804.1 over the Running ones."
    ),
    what_to_do="Filter on num_gpu > 0, and name the population of every figure.",
    documented_in="measured: on the default list",
)

GPU_MILLI_IS_PER_GPU = Caveat(
    "openb.gpu_milli_is_per_gpu",
    "wrong result",
    summary="gpu_milli is per GPU: multiply by num_gpu before adding.",
    what_goes_wrong=(
        "gpu_milli is the share of each GPU: 1000 if num_gpu > 1, and 0 if it is 0. A sum of"
        " gpu_milli counts one GPU of each multi-GPU pod: 3,336,300 for the Running pods instead of"
        " 3,373,300."
    ),
    what_to_do="Use num_gpu * gpu_milli; 1,000,000 milli-GPU are 1,000 GPUs.",
    documented_in="publisher: README, openb_pod_list_default.csv; measured: on the default list",
)

NODE_SN_DIFFERS_BY_LIST = Caveat(
    "openb.node_sn_differs_by_list",
    "wrong result",
    summary="Node lists assign sn separately: never join them on sn.",
    what_goes_wrong=(
        "Each node list assigns sn separately: of the 1,213 names in both lists, 77 % have another"
        " size or model. In the published files, the n-th row of gpu_node is the n-th GPU node of"
        " all_node."
    ),
    what_to_do="Never join the lists on sn.",
    documented_in="measured: on both node lists",
)

NODE_LISTS_OVERLAP = Caveat(
    "openb.node_lists_overlap",
    "wrong result",
    summary="gpu_node is a subset of all_node: using both counts its GPUs twice.",
    what_goes_wrong="gpu_node is a subset of all_node. Using both counts the 6,212 GPUs twice.",
    what_to_do="Use gpu_node for GPUs or all_node for CPU totals, not both.",
    documented_in="publisher: README, openb_node_list_all_node.csv; measured: on both node lists",
)

POD_NAME_DIFFERS_BY_VARIANT = Caveat(
    "openb.pod_name_differs_by_variant",
    "wrong result",
    summary="The same name is another pod in another variant: the key is (variant, name).",
    what_goes_wrong=(
        "The cpu and gpushare variants assign name separately, so the same name is another pod."
        " The gpuspecNN variants keep the rows and names of the default list; so does multigpu50"
        " before the pods that it adds. gpuspec33_cpu0 and nomem_cpu0 number the GPU pods again."
    ),
    what_to_do="Use (variant, name) as the key. Join by name only between variants that keep the rows.",
    documented_in="measured: on the files",
)

VARIANTS_ARE_RESAMPLED = Caveat(
    "openb.variants_are_resampled",
    "limited result",
    summary="Variants other than default are resampled to stress schedulers.",
    what_goes_wrong=(
        "Variants are sampled from the default list to stress one kind of pod. Some repeat its"
        " pods: in gpushare40 1,827 rows have the requests and all three times of an earlier row,"
        " in default 22; without scheduled_time 1,846 and 42."
    ),
    what_to_do="Describe the cluster from default. Use variants only as input for schedulers.",
    documented_in="publisher: README, openb_pod_list_default.csv; measured: on the files",
    raw_files="openb_pod_list_[^d].*",
)

VARIANT_SUFFIXES_DIFFER = Caveat(
    "openb.variant_suffixes_differ",
    "background",
    summary="The numbers in variants' names mean something else in each family.",
    what_goes_wrong=(
        "The numbers in the names have different meanings: cpuNNN is CPU-only pods per mille of"
        " all pods, gpushareNN the percentage of GPU demand in sharing pods, gpuspecNN the"
        " percentage of GPU pods with a constraint, multigpuNN the percentage of GPU demand in"
        " multi-GPU pods. _cpu0 after another name means without the pods that request no GPU."
    ),
    what_to_do="Interpret the suffix by its family.",
    documented_in="measured: on the files; publisher: README, for the families and gpuspec33",
)

MULTIGPU_DEMAND_EXCEEDS_CAPACITY = Caveat(
    "openb.multigpu_demand_exceeds_capacity",
    "limited result",
    summary="The multigpu lists and gpushare20 request more GPUs than the nodes have.",
    what_goes_wrong=(
        "The multigpu lists add pods to the default list. Their GPU demand is 7.09, 8.09, 9.44 and"
        " 11.36 million milli-GPU, while the nodes have 6.212 million. gpushare20, with as many"
        " pods as the default list, also requests more than the nodes have: 105.1 %."
    ),
    what_to_do="Expect pods that cannot be placed.",
    documented_in="measured: on the files",
)

MULTIGPU_FIVE_COLUMNS = Caveat(
    "openb.multigpu_five_columns",
    "limited result",
    summary="The multigpu lists have no gpu_spec, qos, phase or times.",
    what_goes_wrong=(
        "The multigpu lists end after gpu_milli: they have no gpu_spec, qos, phase or times. NULL"
        " there does not mean a Pending pod."
    ),
    what_to_do="Exclude multigpu from figures on time or outcome.",
    documented_in="measured: on the files",
)

NOMEM_LISTS = Caveat(
    "openb.nomem_lists",
    "limited result",
    summary="The nomem lists have no memory requests.",
    what_goes_wrong=(
        "nomem is the default list, and nomem_cpu0 its pods with GPUs, without the column memory_mib. The"
        " simulator's repository had both for a time. NULL there does not mean that a pod needs no memory."
    ),
    what_to_do="Exclude the nomem lists from figures on memory.",
    documented_in="measured: on the files in the history of kubernetes-scheduler-simulator",
)

VARIANTS_NOT_IN_TIME_ORDER = Caveat(
    "openb.variants_not_in_time_order",
    "background",
    summary="Most variants are not ordered by creation time.",
    what_goes_wrong="default and the gpuspec variants are ordered by creation; most other variants are not.",
    what_to_do="Sort by creation_time before you replay a variant.",
    documented_in="measured: on the files",
)

GPU_SPEC_IS_ANY_OF = Caveat(
    "openb.gpu_spec_is_any_of",
    "background",
    summary="gpu_spec lists acceptable models and may repeat one.",
    what_goes_wrong=(
        "gpu_spec lists acceptable models, joined by |, and may repeat one"
        " (V100M16|V100M32|V100M32). Used as a whole text, it has 16 values in gpuspec33."
    ),
    what_to_do="Split at | and remove duplicates.",
    documented_in="publisher: README, gpu_spec; measured: on gpuspec33",
)

GPU_SPEC_ONLY_IN_GPUSPEC = Caveat(
    "openb.gpu_spec_only_in_gpuspec",
    "limited result",
    summary="gpu_spec is empty outside the gpuspec variants.",
    what_goes_wrong=(
        "gpu_spec is empty outside the gpuspec variants, although about a third of the real GPU"
        " pods had constraints."
    ),
    what_to_do="Use gpuspec33 if constraints matter.",
    documented_in="publisher: README, gpuspec33; measured: on the files",
)

ZERO_MEMORY_POD = Caveat(
    "openb.zero_memory_pod",
    "background",
    summary="One pod requests no memory.",
    what_goes_wrong="One pod of the default list, openb-pod-1523, requests no memory.",
    what_to_do="Guard divisions by memory against 0.",
    documented_in="measured: on the default list",
)

POD_PHRASE_SPELLING = Caveat(
    "openb.pod_phrase_spelling",
    "background",
    summary="The README misspells the column pod_phase.",
    what_goes_wrong="The README's list of fields spells the column pod_phrase; in the files it is pod_phase.",
    what_to_do="Use pod_phase.",
    documented_in="publisher: README, openb_pod_list_default.csv",
)

NO_PLACEMENT = Caveat(
    "openb.no_placement",
    "limited result",
    summary="Pods do not name their nodes: fragmentation depends on an assumed placement.",
    what_goes_wrong=(
        "Pods do not name their nodes. Pods and nodes are related only by constraints: gpu_spec"
        " names the model. Fragmentation can be computed for an empty cluster or for an assumed"
        " placement."
    ),
    what_to_do="State the placement that a figure assumes.",
    documented_in="publisher: README, both tables",
)

NO_USER = Caveat(
    "openb.no_user",
    "limited result",
    summary="The trace has no users or groups.",
    what_goes_wrong="The trace has no user and no group; qos is a class of service, not an owner.",
    what_to_do="Report fairness by user as impossible.",
    documented_in="publisher: README, openb_pod_list_default.csv",
)

GPU_MODELS_UNDISCLOSED = Caveat(
    "openb.gpu_models_undisclosed",
    "limited result",
    summary="G2 and G3 are code names for 76 % of the GPUs, with unknown memory.",
    what_goes_wrong=(
        "G2 and G3 are code names, for 4,704 of the 6,212 GPUs, and no model has a memory size."
        " The README also names G1, which no node has. A total of GPU memory rests on guesses."
    ),
    what_to_do="State the assumed sizes with any figure on GPU memory.",
    documented_in="publisher: README, openb_node_list_all_node.csv; measured: on gpu_node",
)

CPU0_IN_ONE_COPY = Caveat(
    "openb.cpu0_in_one_copy",
    "background",
    summary="The list cpu0 is in one of the two published copies only.",
    what_goes_wrong="The list cpu0 is in alibaba/clusterdata only, not in the simulator's copy of the files.",
    what_to_do="Download from alibaba/clusterdata to get all 24 lists.",
    documented_in="measured: on both repositories",
)

CPU_CLASSES_FRAGMENT = Caveat(
    "openb.cpu_classes_fragment",
    "wrong result",
    summary="Nearly all of this fragmentation comes from pods without a GPU; it is not waste.",
    what_goes_wrong=(
        "In FGD's measure, every free GPU is fragmented for a pod that requests no GPU. On the"
        " empty cluster this is nearly all of the fragmentation: 13.94 % of the GPUs with the"
        " default list, in which 13.6 % of the pods in the kept classes request no GPU; 0.40 % with"
        " the GPU classes alone."
    ),
    what_to_do="Compare fragmentation only with values of the same class rule, and do not read it as waste.",
    documented_in=(
        "publisher: kubernetes-scheduler-simulator, pkg/utils/frag.go; measured: on the default list"
    ),
)

CLASSES_TIE_AT_THE_CUT = Caveat(
    "openb.classes_tie_at_the_cut",
    "limited result",
    summary="Ties between task classes change such values by up to 0.1 percentage points.",
    what_goes_wrong=(
        "FGD's task classes end when 95 % of the pods are covered, and classes with the same"
        " number of pods can be on both sides of this cut. Here the smallest request comes first;"
        " the publisher's simulator sorts ties the other way round. In gpuspec33, fragmentation of"
        " the empty cluster is 35.41 or 35.49 % depending on it; the other available lists give the"
        " same value."
    ),
    what_to_do="Report such values to a tenth of a percentage point.",
    documented_in=(
        "publisher: kubernetes-scheduler-simulator, pkg/utils/frag.go, GetTypicalPods; measured: on the files"
    ),
)

METRICS = (
    MetricSupport("submission", "exact", "Seconds from the creation of the first pod."),
    MetricSupport(
        "wait", "exact", "Time from creation to scheduling; NULL for pods that were deleted before."
    ),
    MetricSupport(
        "run",
        "exact",
        "Time from scheduling to deletion; 34 pods of the default list end where the trace ends.",
    ),
    MetricSupport("requested GPUs", "exact", "num_gpu * gpu_milli, in thousandths of a GPU."),
    MetricSupport(
        "allocated GPUs", "impossible", "num_gpu and gpu_milli are requests; what a pod held is not recorded."
    ),
    MetricSupport(
        "GPU utilisation", "impossible", "gpu_milli is a request; the use of GPUs was not measured."
    ),
    MetricSupport(
        "CPU utilisation", "impossible", "cpu_milli is a request; the use of processors was not measured."
    ),
    MetricSupport("memory use", "impossible", "memory_mib is a request; the use of memory was not measured."),
    MetricSupport(
        "final state",
        "approximate",
        "The last phase; pods deleted while Running neither succeeded nor failed.",
    ),
    MetricSupport("machine placement", "impossible", "Pods do not name their nodes."),
    MetricSupport(
        "GPU sharing",
        "approximate",
        "Requests say which pods may share a GPU; which pods did is not recorded.",
    ),
    MetricSupport(
        "fragmentation",
        "approximate",
        "Only for the empty cluster or an assumed placement: the trace records none.",
    ),
    MetricSupport(
        "hour of day", "impossible", "creation_time counts from the first pod, at an unpublished hour."
    ),
    MetricSupport("calendar date", "impossible", "The date of the first creation_time is not published."),
)

FILES_AT = "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2023/csv"
BACKUP_AT = "https://github.com/hkust-adsl/kubernetes-scheduler-simulator/raw/HEAD/data/csv"
# Bytes and SHA-256 of the files in the publisher's repository.
PUBLISHED = {
    "openb_node_list_all_node.csv": (
        52_287,
        "5a85c2af79c66a1efff8bbcbda430400aae56d8431370d738480967e1a9c6b15",
    ),
    "openb_node_list_gpu_node.csv": (
        42_353,
        "2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5",
    ),
    "openb_pod_list_default.csv": (
        575_468,
        "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8",
    ),
    "openb_pod_list_cpu0.csv": (499_765, "1bc3fd9ee5c1468ccd018f624d9222746e08d59f963f66b925804734271c0eaa"),
    "openb_pod_list_cpu037.csv": (
        518_687,
        "8ed554026d041b15ff21ddc104d9a21dbd9a93c496262fa23ef7b5be27e220dc",
    ),
    "openb_pod_list_cpu050.csv": (
        525_811,
        "747f43247bffc2b0bb081d7f61f0705ca8d390dafc0b647e642c92f3baf3ba1e",
    ),
    "openb_pod_list_cpu072.csv": (
        537_576,
        "f8a2b031461b54d7b9f06d55473c2371eb3357b78a255c646bdca5e0833a8a2f",
    ),
    "openb_pod_list_cpu100.csv": (
        554_709,
        "bec1c33fbdde61fd463877534ec79b393aec73e1cbb22d55fab9f166ac480982",
    ),
    "openb_pod_list_cpu200.csv": (
        622_703,
        "b7e9d8a1a601da84d6e0b4110b19ef5001be5e4796d33e7b82f166ba95161f87",
    ),
    "openb_pod_list_cpu235.csv": (
        651_171,
        "87bebd4d012faa8305ce1fd82737f51cf03361aac28b75d42e34aa656d7f4ee0",
    ),
    "openb_pod_list_cpu250.csv": (
        663_708,
        "134c21ff96d57533df8a37b67632972884fec9396e77cd0898ddc370cc8e607d",
    ),
    "openb_pod_list_cpu300.csv": (
        710_698,
        "76528825f40ee662cb098b3b6e683c1efd9f87a0c8af7e628df1f32c639636d1",
    ),
    "openb_pod_list_gpushare20.csv": (
        574_603,
        "9be2d0efb52e242c32e23dd184cc5fcc1983478c6c9c02cbb6b4b62925c0ffcd",
    ),
    "openb_pod_list_gpushare40.csv": (
        572_662,
        "d83ce79a4eb6987524bedbb0c65e41aed3a36bf6c1b78b86234c3687a07e1d40",
    ),
    "openb_pod_list_gpushare60.csv": (
        566_361,
        "d31809628128a1f24491086eda4af3e23882b9213d3ef57a56ee2d1af69492fe",
    ),
    "openb_pod_list_gpushare80.csv": (
        563_740,
        "88b6649369ced40d0fde287d2498ea61ff4b05fccba8bdc95daf6042f2f8431e",
    ),
    "openb_pod_list_gpushare100.csv": (
        561_220,
        "12dbc07d6a49bf8641e2275a2ff5bf7be74b5df7d148d531e135b140b95f9a3d",
    ),
    "openb_pod_list_gpuspec05.csv": (
        577_176,
        "8f1c0ef7e4e511e982bd2818898ba22ee6d273bf5fce124b7ace285b5928cf4e",
    ),
    "openb_pod_list_gpuspec10.csv": (
        579_461,
        "2dc7e4cb9480484f08539720b433a9ec9ab5d76b396f3f7557c53a2ff78a7611",
    ),
    "openb_pod_list_gpuspec20.csv": (
        582_612,
        "6b9b89ab8913c1c074e994e98f548cf1a872fc5f76f2442ca8cd514a478b00a9",
    ),
    "openb_pod_list_gpuspec25.csv": (
        584_915,
        "9d030679a2ccd7e27a7ec9ff15baff34480d22a0012515691fc187e3f35ee68c",
    ),
    "openb_pod_list_gpuspec33.csv": (
        587_467,
        "eca4f746db1e5b25864ad021b55ece3943e101a3ebd4574d09dcb95c46117652",
    ),
    "openb_pod_list_multigpu20.csv": (
        271_530,
        "d9ec6f6c74fb980cc0b81239470c6353fceea077ea9abd610003b604c7cc2b01",
    ),
    "openb_pod_list_multigpu30.csv": (
        277_920,
        "a5e479c6444b1d83eef848159cf00c3cfa13441b2d1e2c113c391b91f1cc5b11",
    ),
    "openb_pod_list_multigpu40.csv": (
        286_202,
        "32c9e8731ca07ef96108aa65f2a289bb9aacb47f642ed9e3789f99b242df60eb",
    ),
    "openb_pod_list_multigpu50.csv": (
        297_219,
        "206f2f5959db30ecb7c44e7f13197c8ec50b7a35558ad3777cc3662ef0fe5373",
    ),
}
# The backup lacks one list.
FILES = tuple(
    PublishedFile(
        f"csv/{name}",
        f"{FILES_AT}/{name}",
        backup="" if name == "openb_pod_list_cpu0.csv" else f"{BACKUP_AT}/{name}",
        bytes=size,
    )
    for name, (size, _) in PUBLISHED.items()
)
