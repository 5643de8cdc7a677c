from .decisions import (
    Answer as Answer,
    Decision as Decision,
    IllegalDecision as IllegalDecision,
    Promise as Promise,
    Reason as Reason,
    Resize as Resize,
    Start as Start,
    Wake as Wake,
)
from .engine import (
    CompiledPolicy as CompiledPolicy,
    Engine as Engine,
    run_policy as run_policy,
    simulate as simulate,
)
from .forecast import (
    PromiseError as PromiseError,
    forecast as forecast,
    promise_error as promise_error,
    promised_starts as promised_starts,
)
from .node_table import NodeTable as NodeTable, PlacesView as PlacesView
from .outcome import Log as Log, Simulation as Simulation, Standstill as Standstill
from .policy import (
    Decider as Decider,
    Policy as Policy,
    PolicyLike as PolicyLike,
    RunnablePolicy as RunnablePolicy,
    runnable as runnable,
)
from .rules import (
    EngineRules as EngineRules,
    Knowledge as Knowledge,
    ProfileKnowledge as ProfileKnowledge,
    ResizeEffect as ResizeEffect,
)
from .snapshot import QueueSnapshot as QueueSnapshot
from .view import JobColumns as JobColumns, QueueView as QueueView
