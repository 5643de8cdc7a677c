from .exhibits import figures as figures, log_page as log_page
from .page import html as html
from .parts import markdown as markdown
from .study import Findings as Findings, Section as Section, StudyRecords as StudyRecords, examine as examine
