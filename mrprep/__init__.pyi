from mrprep.document import Document as Document
from mrprep.document import Dropped as Dropped
from mrprep.errors import MrprepError as MrprepError
from mrprep.interop.library import OpenBuild as OpenBuild
from mrprep.interop.library import build as build
from mrprep.interop.library import open_build as open_build
from mrprep.interop.minddata import dataset as dataset
from mrprep.interop.torch_rows import TorchRows as TorchRows

__version__: str
