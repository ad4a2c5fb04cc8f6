// The scene in three.js: what stands still, nodes that move, marks and arrows of contacts.
"use strict";

const CREASE = Math.cos(40 * Math.PI / 180);  // faces that meet at less are shaded as one
const HIDDEN = 1e-6;  // scale of what is not shown; zero has no rotation
const FORCE_COLOR = 0x2ba84a, CUT_COLOR = 0xf07c12;
const THREE = MeshCat.THREE;

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Three corners a face, with normals that are means over the faces that meet there smoothly.
function creased(vertices, faces) {
  const n = faces.length / 3;
  const position = new Float32Array(9 * n), normal = new Float32Array(9 * n);
  const face = new Float32Array(3 * n);  // area-weighted normals
  const counts = new Uint32Array(vertices.length / 3 + 1);
  for (let i = 0; i < 3 * n; i++) {
    counts[faces[i] + 1]++;
    for (let k = 0; k < 3; k++) position[3 * i + k] = vertices[3 * faces[i] + k];
  }
  for (let i = 1; i < counts.length; i++) counts[i] += counts[i - 1];
  const next = counts.slice(), meeting = new Uint32Array(3 * n);
  for (let i = 0; i < 3 * n; i++) meeting[next[faces[i]]++] = (i / 3) | 0;
  for (let f = 0; f < n; f++) {
    const [ax, ay, az, bx, by, bz, cx, cy, cz] = position.subarray(9 * f, 9 * f + 9);
    const ux = bx - ax, uy = by - ay, uz = bz - az, wx = cx - ax, wy = cy - ay, wz = cz - az;
    face[3 * f] = uy * wz - uz * wy;
    face[3 * f + 1] = uz * wx - ux * wz;
    face[3 * f + 2] = ux * wy - uy * wx;
  }
  const length = f => Math.hypot(face[3 * f], face[3 * f + 1], face[3 * f + 2]);
  const lengths = Float32Array.from({length: n}, (_, f) => length(f));
  for (let i = 0; i < 3 * n; i++) {
    const f = (i / 3) | 0, x = face[3 * f], y = face[3 * f + 1], z = face[3 * f + 2];
    let sx = 0, sy = 0, sz = 0;
    for (let j = counts[faces[i]]; j < counts[faces[i] + 1]; j++) {
      const g = meeting[j], gx = face[3 * g], gy = face[3 * g + 1], gz = face[3 * g + 2];
      if (x * gx + y * gy + z * gz < CREASE * lengths[f] * lengths[g]) continue;
      sx += gx, sy += gy, sz += gz;
    }
    const size = Math.hypot(sx, sy, sz) || 1;
    normal[3 * i] = sx / size, normal[3 * i + 1] = sy / size, normal[3 * i + 2] = sz / size;
  }
  return [position, normal];
}

class SceneView {
  constructor(buffer) {
    const size = new DataView(buffer).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    this.buffer = buffer;
    this.start = 4 + size;
    this.geometries = new Map();
    this.textures = new Map();
    this.scene = new THREE.Scene();
    this.world = new THREE.Group();
    this.terrain = new THREE.Group();
    this.scene.add(this.world, this.terrain);
    this.nodes = this.header.nodes.map(name => this.group(name));
    for (const item of this.header.bodies) this.place(item, this.nodes[item.node] || this.world);
    for (const item of this.header.terrain) this.place(item, this.terrain);
    this.contacts = this.header.contacts.map(contact => this.contact(contact));
    this.light();
  }

  group(name) {
    const group = new THREE.Group();
    group.name = name;
    this.world.add(group);
    return group;
  }

  array(index, Kind) {
    const {offset, bytes} = this.header.arrays[index];
    return new Kind(this.buffer, this.start + offset, bytes / Kind.BYTES_PER_ELEMENT);
  }

  geometry(mesh) {
    const key = [mesh.vertices, mesh.faces, mesh.uv].join();
    if (!this.geometries.has(key)) {
      const geometry = new THREE.BufferGeometry();
      const [position, normal] =
        creased(this.array(mesh.vertices, Float32Array), this.array(mesh.faces, Uint32Array));
      geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
      geometry.setAttribute("normal", new THREE.BufferAttribute(normal, 3));
      if (mesh.uv !== null)
        geometry.setAttribute("uv", new THREE.BufferAttribute(this.array(mesh.uv, Float32Array), 2));
      this.geometries.set(key, geometry);
    }
    return this.geometries.get(key);
  }

  texture(index) {
    if (!this.textures.has(index)) {
      const texture = new THREE.Texture();
      texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
      texture.anisotropy = 8;
      this.textures.set(index, texture);
      texture.ready = createImageBitmap(
        new Blob([this.array(index, Uint8Array)]), {imageOrientation: "flipY"}
      ).then(image => { texture.image = image; texture.flipY = false; texture.needsUpdate = true; });
    }
    return this.textures.get(index);
  }

  get ready() { return Promise.all([...this.textures.values()].map(texture => texture.ready)); }

  material(mesh) {
    const [r, g, b, opacity] = mesh.color;
    return new THREE.MeshPhongMaterial({
      color: new THREE.Color(r, g, b), opacity, transparent: opacity < 1, side: THREE.DoubleSide,
      map: mesh.image === null ? null : this.texture(mesh.image),
      shininess: 5 + 60 * mesh.gloss, specular: new THREE.Color().setScalar(0.5 * mesh.gloss),
    });
  }

  place(item, parent) {
    const body = new THREE.Mesh(this.geometry(item.mesh), this.material(item.mesh));
    body.name = item.name;
    body.castShadow = parent !== this.terrain;
    body.receiveShadow = true;
    body.matrixAutoUpdate = false;
    body.matrix.fromArray(item.matrix);
    parent.add(body);
    return body;
  }

  // A mark at the point, a larger one where it touches, and the arrow of its force.
  contact({name, node, position, radius}) {
    const parent = this.nodes[node] || this.world;
    const ball = (size, color) => {
      const mark = new THREE.Mesh(
        new THREE.SphereGeometry(size, 16, 12), new THREE.MeshPhongMaterial({color}));
      mark.position.fromArray(position);
      parent.add(mark);
      return mark;
    };
    ball(1.05 * radius, 0xf2c14e);
    const touch = ball(1.18 * radius, 0xe4572e);
    const arrow = new THREE.Group();
    arrow.name = `force ${name}`;
    arrow.matrixAutoUpdate = false;
    const material = new THREE.MeshPhongMaterial({color: FORCE_COLOR, depthTest: false});
    for (const mesh of this.header.arrowMeshes) {
      const part = new THREE.Mesh(this.geometry(mesh), material);
      part.renderOrder = 1;  // over all others, for a force often lies inside the leg it pushes
      arrow.add(part);
    }
    this.world.add(arrow);
    return {touch, arrow, material, mark: parent, position: new THREE.Vector3(...position)};
  }

  light() {
    const {size} = this.header;
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0xcfc8bd, 0.62));
    this.sun = new THREE.DirectionalLight(0xffffff, 0.55);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.001;
    Object.assign(this.sun.shadow.camera,
      {left: -1.6 * size, right: 1.6 * size, top: 1.6 * size, bottom: -1.6 * size,
        near: 0.01 * size, far: 6 * size});
    this.scene.add(this.sun, this.sun.target);
    const canvas = document.createElement("canvas");
    canvas.width = 2, canvas.height = 256;
    const context = canvas.getContext("2d"), sky = context.createLinearGradient(0, 0, 0, 256);
    sky.addColorStop(0, "#edf2fa");
    sky.addColorStop(1, "#bdc9d9");
    context.fillStyle = sky;
    context.fillRect(0, 0, 2, 256);
    this.scene.background = new THREE.CanvasTexture(canvas);
    this.scene.fog = new THREE.Fog(0xd3dce8, 12 * size, Math.max(40 * size, 45));
  }

  // Move everything to where a frame has it.
  show(frame) {
    this.nodes.forEach((node, k) => {
      node.position.fromArray(frame, 1 + 7 * k);
      node.quaternion.fromArray(frame, 4 + 7 * k);
    });
    this.world.updateMatrixWorld(true);
    const {scale, longest} = this.header.arrow, {size} = this.header;
    const force = new THREE.Vector3(), up = new THREE.Vector3(0, 0, 1);
    this.contacts.forEach(({touch, arrow, material, mark, position}, k) => {
      force.fromArray(frame, 1 + 7 * this.nodes.length + 3 * k);
      const whole = scale * force.length(), length = Math.min(whole, longest);
      touch.scale.setScalar(whole > 1e-3 * size ? 1 : HIDDEN);
      material.color.setHex(whole > longest ? CUT_COLOR : FORCE_COLOR);
      const width = length < HIDDEN ? HIDDEN : Math.min(1, length / (0.12 * size));
      arrow.visible = length >= HIDDEN;
      arrow.matrix.compose(
        position.clone().applyMatrix4(mark.matrixWorld),
        new THREE.Quaternion().setFromUnitVectors(up, force.normalize()),
        new THREE.Vector3(width, width, Math.max(length, HIDDEN)));
    });
  }
}
