// The frames that the page has, by time.
"use strict";

const WINDOW = 0.5;  // [s] to each side over which the camera's height is a mean

class Timeline {
  constructor(nodes, contacts, buffer) {
    this.nodes = nodes;
    this.stride = 1 + 7 * nodes + 3 * contacts;
    this.values = new Float32Array(buffer);
    this.n = this.values.length / this.stride;
  }

  time(i) { return this.values[i * this.stride]; }
  frame(i) { return this.values.subarray(i * this.stride, (i + 1) * this.stride); }
  get start() { return this.time(0); }
  get end() { return this.time(this.n - 1); }

  // Index of the last frame that is not later than t.
  index(t) {
    let low = 0, high = this.n - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time(middle) <= t) low = middle; else high = middle - 1;
    }
    return low;
  }

  // The frame at time t, between two that there are; rotations the short way.
  at(t) {
    const i = this.index(t), a = this.frame(i);
    if (i === this.n - 1 || t <= a[0]) return a;
    const b = this.frame(i + 1), share = (t - a[0]) / (b[0] - a[0]);
    const mixed = a.map((value, k) => value + share * (b[k] - value));
    const turn = new THREE.Quaternion(), other = new THREE.Quaternion();
    for (let k = 0; k < this.nodes; k++) {
      turn.fromArray(a, 4 + 7 * k).slerp(other.fromArray(b, 4 + 7 * k), share);
      turn.toArray(mixed, 4 + 7 * k);
    }
    return mixed;
  }

  // Mean height of a node around time t: what the camera looks at rises and sinks calmly.
  height(node, t) {
    let sum = 0, count = 0;
    for (let i = this.index(t - WINDOW); i < this.n && this.time(i) <= t + WINDOW; i++) {
      sum += this.values[i * this.stride + 3 + 7 * node];
      count++;
    }
    return count ? sum / count : this.frame(this.index(t))[3 + 7 * node];
  }
}
