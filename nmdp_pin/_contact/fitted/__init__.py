"""Contact models fitted to data: hulls, networks and functions of the pose."""

from nmdp_pin._contact.fitted.fitted import Fitted
from nmdp_pin._contact.fitted.fitted_model import fitted_model
from nmdp_pin._contact.fitted.hull_vertices import HullFit, HullVertices, fit_hulls
from nmdp_pin._contact.fitted.vertex_map import FunctionVertices, OnnxVertices, VertexMap
from nmdp_pin._contact.fitted.wrench_samples import WrenchSamples
