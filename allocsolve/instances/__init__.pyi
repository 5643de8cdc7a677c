from .formats.logs.fields import LogFields as LogFields
from .formats.logs.jobs import read_table_log as read_table_log
from .formats.logs.log import (
    CleaningReport as CleaningReport,
    JobLog as JobLog,
    log_problem as log_problem,
    recorded_schedule as recorded_schedule,
    swf_problem as swf_problem,
)
from .formats.logs.node_events import (
    EventWindows as EventWindows,
    NodeEvent as NodeEvent,
    NodeEvents as NodeEvents,
    event_windows as event_windows,
    read_node_events as read_node_events,
)
from .formats.logs.site_nodes import (
    SiteNodes as SiteNodes,
    parse_node_types as parse_node_types,
    read_node_list as read_node_list,
    site_nodes as site_nodes,
)
from .formats.logs.squeue import (
    SQUEUE_FORMAT as SQUEUE_FORMAT,
    SQUEUE_NODES_FORMAT as SQUEUE_NODES_FORMAT,
    QueuedJob as QueuedJob,
    QueueListing as QueueListing,
    RunningJob as RunningJob,
    read_squeue as read_squeue,
)
from .formats.logs.swf import read_swf_log as read_swf_log
from .formats.logs.tables import (
    LOG_FORMATS as LOG_FORMATS,
    LOG_TABLES as LOG_TABLES,
    LogTable as LogTable,
    log_format as log_format,
)
from .formats.logs.windows import (
    TimeOrigin as TimeOrigin,
    closed_window as closed_window,
    ran_while_closed as ran_while_closed,
    time_origin as time_origin,
)
from .formats.networks.files import read_free_nodes as read_free_nodes, read_network as read_network
from .formats.networks.hostlist import (
    compress_hostlist as compress_hostlist,
    expand_hostlist as expand_hostlist,
)
from .formats.networks.network import (
    NetworkFile as NetworkFile,
    StatedNodes as StatedNodes,
    network_problem as network_problem,
)
from .formats.own.envelope import (
    Proof as Proof,
    digest as digest,
    parse_problem as parse_problem,
    parse_solution as parse_solution,
    problem_columns as problem_columns,
    problem_document as problem_document,
    problem_from_columns as problem_from_columns,
    read_certificate as read_certificate,
    read_outcome as read_outcome,
    read_problem as read_problem,
    read_solution as read_solution,
    solution_columns as solution_columns,
    solution_digest as solution_digest,
    solution_document as solution_document,
    solution_from_columns as solution_from_columns,
    write_certificate as write_certificate,
    write_problem as write_problem,
    write_solution as write_solution,
)
from .formats.simulators.batsim import (
    BATSIM_VERSIONS as BATSIM_VERSIONS,
    read_batsim as read_batsim,
    write_batsim as write_batsim,
)
from .formats.simulators.elastisim import write_elastisim as write_elastisim
from .formats.simulators.elastisim_jobs import read_elastisim as read_elastisim
from .formats.simulators.foreign import ReadWorkload as ReadWorkload, Unheld as Unheld
from .generators.elastic import (
    elastic_workload as elastic_workload,
    lina_workload as lina_workload,
    shrunk_arrivals as shrunk_arrivals,
)
from .generators.evolution_workload import (
    evolution_of_workload as evolution_of_workload,
    evolution_schedule_of_workload as evolution_schedule_of_workload,
    workload_of_evolution as workload_of_evolution,
    workload_schedule_of_evolution as workload_schedule_of_evolution,
)
from .generators.evotree import (
    evotree as evotree,
    evotree_batch as evotree_batch,
    evotree_stream as evotree_stream,
)
from .generators.examples import (
    counterexamples as counterexamples,
    easy_counterexamples as easy_counterexamples,
    median_worst_case as median_worst_case,
    network_counterexamples as network_counterexamples,
    shape_counterexamples as shape_counterexamples,
)
from .generators.klein2011 import amr as amr, amr_stream as amr_stream, klein2011 as klein2011
from .generators.linnert2024 import LINNERT_STREAMS as LINNERT_STREAMS, linnert2024 as linnert2024
from .generators.occupancy import (
    MACHINE_SOURCES as MACHINE_SOURCES,
    MACHINES as MACHINES,
    SWITCH_TREES as SWITCH_TREES,
    churned_occupancy as churned_occupancy,
    uniform_occupancy as uniform_occupancy,
)
from .generators.rigid import (
    LUBLIN_MODELS as LUBLIN_MODELS,
    downey1997 as downey1997,
    lublin1999 as lublin1999,
)
from .library.files import (
    BEST_KNOWN as BEST_KNOWN,
    PACKAGED as PACKAGED,
    BestKnown as BestKnown,
    HistoryEntry as HistoryEntry,
    Library as Library,
    Member as Member,
    Selection as Selection,
    Statement as Statement,
    Suite as Suite,
    read_best_known as read_best_known,
    read_statements as read_statements,
    write_best_known as write_best_known,
    write_index as write_index,
)
from .library.regenerate import regenerate as regenerate
