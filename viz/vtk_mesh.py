"""Meshes and their pictures as VTK holds them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from nmdp_pin.viz.colored_mesh import ColoredMesh

_CREASE = 40.0  # [deg] faces that meet at less are shaded as one


def poly_data(vtk: Any, mesh: ColoredMesh) -> Any:
    """A mesh with normals; corners are separate where there is a picture on it."""
    vertices, faces = mesh.vertices, mesh.faces.astype(np.int64)
    data = vtk.vtkPolyData()
    if mesh.uv is not None:
        vertices = mesh.vertices[mesh.faces].reshape(-1, 3)
        faces = np.arange(len(vertices)).reshape(-1, 3)
        uv = vtk.numpy_to_vtk(np.ascontiguousarray(mesh.uv.reshape(-1, 2)), deep=True)
        uv.SetName("uv")
        data.GetPointData().SetTCoords(uv)
    points = vtk.vtkPoints()
    points.SetData(vtk.numpy_to_vtk(np.ascontiguousarray(vertices, np.float32), deep=True))
    cells = vtk.vtkCellArray()
    offsets = np.arange(0, 3 * len(faces) + 1, 3)
    cells.SetData(
        vtk.numpy_to_vtkIdTypeArray(offsets, deep=True),
        vtk.numpy_to_vtkIdTypeArray(faces.ravel(), deep=True),
    )
    data.SetPoints(points)
    data.SetPolys(cells)
    normals = vtk.vtkPolyDataNormals()
    normals.SetInputData(data)
    normals.SetFeatureAngle(_CREASE)
    normals.ConsistencyOff()
    normals.Update()
    return normals.GetOutput()


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
