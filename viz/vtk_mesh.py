"""Meshes and their pictures as VTK holds them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from nmdp_pin.viz.colored_mesh import ColoredMesh


def poly_data(vtk: Any, mesh: ColoredMesh) -> Any:
    """A mesh with normals, and places in its picture where it has one."""
    shading = mesh.shaded()
    data = vtk.vtkPolyData()

    def array(values: np.ndarray) -> Any:
        return vtk.numpy_to_vtk(np.ascontiguousarray(values, np.float32), deep=True)

    data.GetPointData().SetNormals(array(shading.normals))
    if shading.uv is not None:
        data.GetPointData().SetTCoords(array(shading.uv))
    points = vtk.vtkPoints()
    points.SetData(array(shading.vertices))
    cells = vtk.vtkCellArray()
    offsets = np.arange(0, 3 * len(shading.faces) + 1, 3)
    cells.SetData(
        vtk.numpy_to_vtkIdTypeArray(offsets, deep=True),
        vtk.numpy_to_vtkIdTypeArray(shading.faces.astype(np.int64).ravel(), deep=True),
    )
    data.SetPoints(points)
    data.SetPolys(cells)
    return data


def texture(vtk: Any, image: bytes) -> Any:
    """A PNG or JPEG that repeats in both directions."""
    with Image.open(io.BytesIO(image)) as picture:
        pixels = np.ascontiguousarray(np.asarray(picture.convert("RGB"))[::-1])
    data = vtk.vtkImageData()
    data.SetDimensions(pixels.shape[1], pixels.shape[0], 1)
    data.GetPointData().SetScalars(vtk.numpy_to_vtk(pixels.reshape(-1, 3), deep=True))
    found = vtk.vtkTexture()
    found.SetInputData(data)
    found.RepeatOn()
    found.InterpolateOn()
    found.MipmapOn()
    found.SetMaximumAnisotropicFiltering(8)
    return found
