from .accasim import AccasimScheduler as AccasimScheduler
from .agents import (
    FEATURES as FEATURES,
    AgentPolicy as AgentPolicy,
    AgentTurn as AgentTurn,
    Observation as Observation,
    train_test_ranges as train_test_ranges,
    window_of_log as window_of_log,
)
from .batsim import PybatsimScheduler as PybatsimScheduler
from .cqsim import CqsimBackfill as CqsimBackfill, cqsim_modules as cqsim_modules
from .elastisim import ElastisimScheduler as ElastisimScheduler
from .flux import FluxScheduler as FluxScheduler
from .foreign_cluster import ForeignJobs as ForeignJobs, RunningJob as RunningJob
from .hpcopt import HpcoptPlugin as HpcoptPlugin, HpcoptPolicy as HpcoptPolicy
from .node_choice import node_chooser as node_chooser
from .policy_driver import (
    IllegalOrder as IllegalOrder,
    NamedPolicy as NamedPolicy,
    Order as Order,
    PolicyDriver as PolicyDriver,
    named_policy as named_policy,
)
from .raps import RapsScheduler as RapsScheduler
