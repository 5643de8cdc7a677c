from .latex import latex as latex
from .page import figures as figures, html as html, log_page as log_page
from .parts import markdown as markdown
from .study import Findings as Findings, Section as Section, StudyRecords as StudyRecords, examine as examine
