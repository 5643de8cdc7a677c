from .plot import plot as plot, write_figures as write_figures
from .study import gap_boxes as gap_boxes, primal_gaps as primal_gaps, profile_curves as profile_curves
from .style import FORMATS as FORMATS, FigureFormat as FigureFormat
from .timeline import gantt as gantt, node_use as node_use
