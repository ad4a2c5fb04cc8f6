// The scene in three.js: what stands still, nodes that move, marks and arrows of contacts.
"use strict";

const HIDDEN = 1e-6;  // scale of what is not shown; zero has no rotation
const FORCE_COLOR = 0x2ba84a, CUT_COLOR = 0xf07c12;
const THREE = MeshCat.THREE;

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
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
    this.arrows = new THREE.Group();
    this.marks = [];
    this.scene.add(this.world, this.terrain);
    this.world.add(this.arrows);
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
      const add = (name, index, Kind, size) => geometry.setAttribute(
        name, new THREE.BufferAttribute(this.array(index, Kind), size, Kind === Int16Array));
      add("position", mesh.vertices, Float32Array, 3);
      add("normal", mesh.normals, Int16Array, 3);
      if (mesh.uv !== null) add("uv", mesh.uv, Float32Array, 2);
      geometry.setIndex(new THREE.BufferAttribute(this.array(mesh.faces, Uint32Array), 1));
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
      this.marks.push(mark);
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
    this.arrows.add(arrow);
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
    const {scale, longest, taper, touching} = this.header.arrow;
    const force = new THREE.Vector3(), up = new THREE.Vector3(0, 0, 1);
    this.contacts.forEach(({touch, arrow, material, mark, position}, k) => {
      force.fromArray(frame, 1 + 7 * this.nodes.length + 3 * k);
      const whole = scale * force.length(), length = Math.min(whole, longest);
      touch.scale.setScalar(whole > touching ? 1 : HIDDEN);
      material.color.setHex(whole > longest ? CUT_COLOR : FORCE_COLOR);
      const width = length < HIDDEN ? HIDDEN : Math.min(1, length / taper);
      arrow.visible = length >= HIDDEN;
      arrow.matrix.compose(
        position.clone().applyMatrix4(mark.matrixWorld),
        new THREE.Quaternion().setFromUnitVectors(up, force.normalize()),
        new THREE.Vector3(width, width, Math.max(length, HIDDEN)));
    });
  }
}
