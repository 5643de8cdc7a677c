from .latex import latex as latex
from .logs.call import WhatIfAnswer as WhatIfAnswer, inquire as inquire, whatif as whatif
from .page import figures as figures, html as html, log_page as log_page
from .parts import markdown as markdown
from .queues.call import WhenAnswer as WhenAnswer, when as when
from .study import Findings as Findings, Section as Section, StudyRecords as StudyRecords, examine as examine
