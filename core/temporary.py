"""Find the folder for temporary files."""

import tempfile
from pathlib import Path

from tracehouse.core.errors import UserError


def temporary_folder() -> Path:
    """Return the folder for temporary files. Raises UserError if there is none that can be written."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        tried = str(error.strerror).partition(" found in ")[2].strip("[]")
        raise UserError(
            f"None of these folders can be used for temporary files: {tried}. Set the variable TMPDIR to a "
            "folder that you may write, on a disk with free space"
        ) from None
