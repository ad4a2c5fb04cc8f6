// The page: fetches the scene and its frames, plays them, and goes on while the run does.
"use strict";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];
const CALM = 0.2;  // how far the base may leave the middle of the picture, in units of its size
const element = id => document.getElementById(id);

class Player {
  constructor(view) {
    this.view = view;
    const {header} = view;
    this.timeline = new Timeline(header.nodes.length, header.contacts.length);
    this.canvas = element("canvas");
    this.camera = new OrbitCamera(this.canvas, header.size);
    this.renderer = new THREE.WebGLRenderer({canvas: this.canvas, antialias: true});
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.setPixelRatio(window.devicePixelRatio);
    this.time = 0;
    this.speed = header.speed;
    this.playing = true;
    this.loops = true;
    this.lost = false;
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
      else if (step) this.pause(), this.seek(this.time + step);
      else return;
      event.preventDefault();
    });
  }

  take(buffer) {
    const first = this.timeline.n === 0;
    const again = this.timeline.take(buffer);
    if (first || (again && this.time > this.timeline.end)) this.time = this.timeline.start;
  }

  play() {
    if (this.timeline.complete && this.time >= this.timeline.end) this.time = this.start;
    this.playing = true;
    this.last = performance.now();
  }

  pause() { this.playing = false; }

  seek(time) { this.time = Math.min(Math.max(time, this.start), this.timeline.end); }

  // Go on by the clock; at the end of what there is, wait for more or begin again.
  advance() {
    const now = performance.now(), passed = (now - this.last) / 1000;
    this.last = now;
    if (!this.playing || !this.timeline.n) return;
    this.time += this.speed * passed;
    if (this.time <= this.timeline.end) return;
    const done = this.timeline.complete || this.lost;
    this.time = done && this.loops && this.duration > 0 ? this.start : this.timeline.end;
  }

  render() {
    const {canvas, view, timeline} = this, {header} = view;
    if (!timeline.n) return;
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
    const {timeline} = this, done = timeline.complete;
    element("time").textContent =
      `t = ${this.time.toFixed(3)} / ${timeline.end.toFixed(2)} s`;
    element("play").textContent = this.playing ? "pause" : "play";
    element("state").textContent = done ? "replay" : this.lost ? "ended" : "live";
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

async function fetched(name) {
  const answer = await fetch(name, {cache: "no-store"});
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.arrayBuffer();
}

// Ask for what is missing, until the run is over or the program that ran it has ended.
async function follow(player) {
  const {timeline} = player;
  try {
    while (!timeline.complete)
      player.take(await fetched(`frames?edition=${timeline.edition}&first=${timeline.n}`));
  } catch {
    player.lost = true;  // what came is kept, and can be played
  }
}

(async () => {
  const kept = element("scene-data");
  const scene = kept ? fromBase64(kept.textContent) : await fetched("scene");
  const player = new Player(new SceneView(await unpack(scene)));
  window.player = player;
  if (kept) player.take(await unpack(fromBase64(element("frames-data").textContent)));
  else follow(player);
  await player.view.ready;
  player.loop();
})();
