// A camera that turns around the robot, goes with it, and rises where the ground hides it.
"use strict";

const STEEPEST = 1.5;  // [rad] of the camera over the horizon
const RISE = 0.1;  // [rad] of one try to get over the ground

class OrbitCamera {
  constructor(canvas, size) {
    this.size = size;
    this.target = new THREE.Vector3();
    this.camera = new THREE.PerspectiveCamera(35, 1, 0.01 * size, 400);
    this.camera.up.set(0, 0, 1);
    this.ray = new THREE.Raycaster();
    this.reset();
    const pointers = new Map();
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", event => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      pointers.set(event.pointerId, event);
      const x = event.clientX - last.clientX, y = event.clientY - last.clientY;
      if (event.buttons & 2 || event.shiftKey) this.pan(x, y, canvas.clientHeight);
      else this.turn(-0.006 * x, 0.006 * y);
    });
    const release = event => pointers.delete(event.pointerId);
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("contextmenu", event => event.preventDefault());
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(0.001 * event.deltaY));
    }, {passive: false});
  }

  reset() {
    this.azimuth = -1.17;
    this.elevation = 0.27;
    this.distance = 1.97 * this.size;
    this.offset = new THREE.Vector3();
  }

  turn(azimuth, elevation) {
    this.azimuth += azimuth;
    this.elevation = Math.min(Math.max(this.elevation + elevation, -STEEPEST), STEEPEST);
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(factor * this.distance, 0.2 * this.size), 60 * this.size);
  }

  pan(x, y, height) {
    const step = 2 * Math.tan(0.5 * this.camera.fov * Math.PI / 180) * this.distance / height;
    const axes = [0, 1].map(k => new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, k));
    this.offset.addScaledVector(axes[0], -step * x).addScaledVector(axes[1], step * y);
  }

  direction(elevation) {
    const flat = Math.cos(elevation);
    return new THREE.Vector3(
      flat * Math.cos(this.azimuth), flat * Math.sin(this.azimuth), Math.sin(elevation));
  }

  // Look at the target from where the ground is not in the way.
  look(target, aspect, ground) {
    this.target.copy(target).add(this.offset);
    let elevation = this.elevation;
    this.ray.far = this.distance + 0.1 * this.size;
    for (let tried = elevation; tried <= STEEPEST; tried += RISE) {
      this.ray.set(this.target, this.direction(tried));
      if (this.ray.intersectObject(ground, true).length === 0) {
        elevation = tried;
        break;
      }
    }
    const {camera} = this;
    camera.position.copy(this.target).addScaledVector(this.direction(elevation), this.distance);
    camera.lookAt(this.target);
    camera.aspect = aspect;
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
  }
}
