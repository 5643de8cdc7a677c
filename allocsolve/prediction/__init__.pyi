from .answers import (
    METHODS as METHODS,
    Method as Method,
    PastAnswers as PastAnswers,
    past_answers as past_answers,
)
from .history import JobHistory as JobHistory, Moment as Moment
from .run_times import RunTimes as RunTimes
from .when import StartIntervals as StartIntervals, when as when
from .windows import ShorterLimit as ShorterLimit, shorter_limits as shorter_limits
