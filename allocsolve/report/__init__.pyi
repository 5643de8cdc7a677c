from .exhibits import log_page as log_page
from .figures import figures as figures
from .markdown import markdown as markdown
from .page import html as html
from .study import Findings as Findings, Section as Section, StudyRecords as StudyRecords, examine as examine
