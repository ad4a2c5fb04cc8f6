// The page: plays the frames that are in it.
"use strict";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];
const CALM = 0.2;  // how far the base may leave the middle of the picture, in units of its size
const element = id => document.getElementById(id);

class Player {
  constructor(view, frames) {
    this.view = view;
    const {header} = view;
    this.timeline = new Timeline(header.nodes.length, header.contacts.length, frames);
    this.canvas = element("canvas");
    this.camera = new OrbitCamera(this.canvas, header.size);
    this.renderer = new THREE.WebGLRenderer({canvas: this.canvas, antialias: true});
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.setPixelRatio(window.devicePixelRatio);
    this.time = this.timeline.start;
    this.speed = header.speed;
    this.playing = true;
    this.loops = true;
    this.last = performance.now();
    element("notes").textContent = header.notes.join("\n");
    this.controls();
  }

  get start() { return this.timeline.start; }
  get duration() { return this.timeline.end - this.timeline.start; }

  controls() {
    const speeds = [...new Set([...SPEEDS, this.speed])].sort((a, b) => a - b);
    for (const speed of speeds) element("speed").add(new Option(`× ${speed}`, speed));
    element("speed").value = this.speed;
    element("speed").addEventListener("change", event => { this.speed = +event.target.value; });
    element("play").addEventListener("click", () => this.playing ? this.pause() : this.play());
    element("slider").addEventListener("input", event => {
      this.pause();
      this.seek(this.start + this.duration * event.target.value / 1000);
    });
    document.addEventListener("keydown", event => {
      const step = {ArrowLeft: -0.02, ArrowRight: 0.02, ",": -0.002, ".": 0.002}[event.key];
      if (event.key === " ") this.playing ? this.pause() : this.play();
      else if (event.key === "Home") this.seek(this.start);
      else if (event.key === "End") this.seek(this.timeline.end);
      else if (event.key === "c") this.view.marks.forEach(mark => { mark.visible = !mark.visible; });
      else if (event.key === "f") this.view.arrows.visible = !this.view.arrows.visible;
      else if (event.key === "?") element("help").hidden = !element("help").hidden;
      else if (step) this.pause(), this.seek(this.time + step);
      else return;
      event.preventDefault();
    });
  }

  play() {
    if (this.time >= this.timeline.end) this.time = this.start;
    this.playing = true;
    this.last = performance.now();
  }

  pause() { this.playing = false; }

  seek(time) { this.time = Math.min(Math.max(time, this.start), this.timeline.end); }

  // Go on by the clock; begin again at the end.
  advance() {
    const now = performance.now(), passed = (now - this.last) / 1000;
    this.last = now;
    if (this.playing) this.time += this.speed * passed;
    if (this.time > this.timeline.end)
      this.time = this.loops && this.duration > 0 ? this.start : this.timeline.end;
  }

  render() {
    const {canvas, view, timeline} = this, {header} = view;
    const size = new THREE.Vector2();
    this.renderer.getSize(size);
    if (size.x !== canvas.clientWidth || size.y !== canvas.clientHeight)
      this.renderer.setSize(canvas.clientWidth, canvas.clientHeight, false);
    const frame = timeline.at(this.time);
    view.show(frame);
    const target = new THREE.Vector3(...header.center);
    if (header.base !== null) {
      const k = header.base, shown = header.follow ? frame : timeline.frame(0);
      const [x, y, z] = shown.subarray(1 + 7 * k, 4 + 7 * k), most = CALM * header.size;
      const lift = header.follow ? timeline.height(k, this.time) - z : 0;
      target.add(new THREE.Vector3(x, y, z + Math.min(Math.max(lift, -most), most)));
    }
    this.camera.look(target, canvas.clientWidth / canvas.clientHeight, view.terrain);
    view.sun.target.position.copy(target);
    view.sun.position.set(0.5, -0.9, 2).multiplyScalar(header.size).add(target);
    view.sun.target.updateMatrixWorld();
    this.renderer.render(view.scene, this.camera.camera);
    this.write();
  }

  write() {
    element("time").textContent =
      `t = ${this.time.toFixed(3)} / ${this.timeline.end.toFixed(2)} s`;
    element("play").textContent = this.playing ? "pause" : "play";
    if (document.activeElement !== element("slider") || this.playing)
      element("slider").value = this.duration ? 1000 * (this.time - this.start) / this.duration : 0;
  }

  loop() {
    this.advance();
    this.render();
    requestAnimationFrame(() => this.loop());
  }
}

const fromBase64 = text => Uint8Array.from(atob(text), character => character.charCodeAt(0));

(async () => {
  const [scene, frames] = await Promise.all(
    ["scene", "frames"].map(name => unpack(fromBase64(element(`${name}-data`).textContent))));
  const player = new Player(new SceneView(scene), frames);
  window.player = player;
  await player.view.ready;
  player.loop();
})();
