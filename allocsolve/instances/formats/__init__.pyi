from .files import Checker as Checker, Document as Document, show as show
from .tables import Rows as Rows
