from .history import JobHistory as JobHistory, Moment as Moment
from .scenarios import RunTimes as RunTimes, ShorterLimit as ShorterLimit, shorter_limits as shorter_limits
from .when import (
    METHODS as METHODS,
    Method as Method,
    PastAnswers as PastAnswers,
    StartIntervals as StartIntervals,
    past_answers as past_answers,
    when as when,
)
