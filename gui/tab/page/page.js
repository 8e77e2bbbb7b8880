// The window in a tab: keeps the connection to the program, and says what the mouse and the keys do.
import { Bytes, Message, Painter, inflated, readFrame } from './frame.js';

const VERSION = 1;
const FROM = { frame: 1, texture: 2, forget: 3, words: 4, copied: 5, texts: 6, beat: 7, visit: 8, over: 9,
  proof: 10 };
const TO = { hello: 1, size: 2, shown: 3, drawn: 4, move: 5, leave: 6, button: 7, wheel: 8, key: 9, text: 10,
  paste: 11, blur: 12, alive: 13, again: 14 };
const SILENCE_MS = 45000, REPAIR_MS = 5000, FIRST_PAUSE_MS = 500, LAST_PAUSE_MS = 10000;
const MOST_TYPED = 4096, MOST_PASTED = 20000;  // letters; the program takes no more
const MOST_SCALE = 8;  // the program's letters end at 4
const MOST_ROWS = 10000;  // of words to be selected
const LEFT = 1, RIGHT = 2, BUTTONS = 7;  // of MouseEvent.buttons; the program numbers them as their bits

// Keys that are no letters, as GLFW numbers them; letters and signs are their ASCII.
const KEYS = { Escape: 256, Enter: 257, Tab: 258, Backspace: 259, Insert: 260, Delete: 261, ArrowRight: 262,
  ArrowLeft: 263, ArrowDown: 264, ArrowUp: 265, PageUp: 266, PageDown: 267, Home: 268, End: 269, NumpadEnter: 335,
  ShiftLeft: 340, ControlLeft: 341, MetaLeft: 343, ShiftRight: 344, ControlRight: 345, MetaRight: 347, F1: 290,
  F4: 293 };
const CURSORS = ['none', 'default', 'text', 'move', 'ns-resize', 'ew-resize', 'nesw-resize', 'nwse-resize', 'pointer',
  'not-allowed'];

// Control or command; a key that writes a third sign (AltGr) is said to hold Control and Alt on some systems.
const commands = (event) => (event.ctrlKey || event.metaKey) && !event.getModifierState('AltGraph');
const held = (event) => (event.shiftKey ? 1 : 0) + (commands(event) ? 2 : 0) + (event.altKey ? 4 : 0);

// 0 = a key that the window does not know, or that is the browser's: its zoom, reload, tabs, history and tools stay.
function keyOf(event) {
  if (event.isComposing || /^(Process|Dead|Unidentified)$/.test(event.key)) return 0;  // a sign in the making
  const named = KEYS[event.code] ?? KEYS[event.key];
  if (named) return event.altKey || (commands(event) && event.key === 'Tab') ? 0 : named;
  const place = /^(?:Key|Digit)(.)$/.exec(event.code);  // for layouts without Latin letters
  const letter = /^[ -~]$/.test(event.key) ? event.key.toUpperCase() : place ? place[1] : '';
  if (event.altKey || (commands(event) && !/^[ACXYZ]$/.test(letter))) return 0;
  return letter ? letter.charCodeAt(0) : 0;
}

class Tab {
  constructor() {
    const part = (id) => document.getElementById(id);
    for (const id of ['window', 'canvas', 'texts', 'keys', 'summary', 'note']) this[id] = part(id);
    this.painter = new Painter(this.canvas);
    this.frame = null;
    this.fit = { x: 0, y: 0, scale: 1 };
    this.pause = FIRST_PAUSE_MS;
    this.buttons = 0;
    this.texted = 0;  // buttons that are the browser's: they select words, and open its menu on them
    this.repaired = -REPAIR_MS;
    this.listen();
    this.resize();
    this.connect();
    setInterval(() => performance.now() - this.heard > SILENCE_MS && this.connected() && this.lost(), 5000);
  }

  // The connection: kept up, and begun again with longer pauses when it breaks.
  connect() {
    const address = new URL('socket', location.href);
    address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = this.socket = new WebSocket(address, 'isobar.1');
    socket.binaryType = 'arraybuffer';
    this.work = Promise.resolve();  // messages one after the other, though unpacking them takes its time
    this.heard = performance.now();
    this.over = '';
    this.proven = false;
    socket.onopen = () => {
      this.frame = null;
      socket.send(this.size(new Message(TO.hello).number(VERSION)).done());
      socket.send(this.shown().done());
    };
    socket.onmessage = (event) => {
      this.heard = performance.now();
      const take = () => socket === this.socket && this.take(new Uint8Array(event.data));
      this.work = this.work.then(take).catch((error) => socket === this.socket && this.repair(error));
    };
    socket.onclose = () => socket === this.socket && this.work.then(() => this.lost());
  }
  connected() { return this.socket.readyState <= WebSocket.OPEN; }
  async lost() {
    const socket = this.socket;
    socket.onclose = null;
    socket.close();
    document.title = 'not connected - Isobar';  // until the program says another
    if (this.over || this.trying) return this.over && this.say(this.over);
    this.trying = true;
    this.say('The connection is lost. Trying again ...');
    for (let answer = null; !answer?.ok;) {
      await new Promise((done) => { this.hurry = done; setTimeout(done, this.pause); });
      this.pause = Math.min(LAST_PAUSE_MS, this.pause * 2);
      const patience = AbortSignal.timeout(LAST_PAUSE_MS);
      answer = await fetch('alive', { cache: 'no-store', signal: patience }).catch(() => null);
      // It goes on asking: a proxy says so too while it starts.
      if (answer?.status === 403 || answer?.status === 404)
        this.say('This address is not valid any more. ./isobar gui --browser prints a new one.');
    }
    this.trying = false;
    return this.connect();
  }
  // What came does not fit: all of it is asked for again.
  repair(error) {
    console.warn(error);
    const again = performance.now() - this.repaired < REPAIR_MS;
    this.repaired = performance.now();
    if (again) return this.lost();
    this.frame = null;
    return this.send(new Message(TO.again));
  }
  // Where the program was killed, another may answer at its port: nothing is taken from it, nothing told to it.
  prove(proof) {
    this.proof ??= proof;
    this.proven = proof === this.proof;
    if (!this.proven) {
      this.over = 'Another program answers at this address. ./isobar gui --browser prints a new one.';
      return this.socket.close();
    }
    this.send(this.size(new Message(TO.size)));  // as it is now
    return this.send(this.shown());
  }
  send(message) {
    if (this.proven && this.socket.readyState === WebSocket.OPEN) this.socket.send(message.done());
  }
  shown() { return new Message(TO.shown).number(document.hidden ? 0 : 1); }

  async take(bytes) {
    const message = new Bytes(bytes.subarray(1));
    if (bytes[0] === FROM.proof) return this.prove(message.words());
    if (!this.proven) return undefined;
    switch (bytes[0]) {
      case FROM.frame: return this.show(await inflated(message.rest()));
      case FROM.texture: {
        const number = message.number(), width = message.number(1 << 14), height = message.number(1 << 14);
        const letters = message.number(1) === 1;
        return this.painter.texture(number, width, height, letters, await inflated(message.rest()));
      }
      case FROM.forget: return this.painter.forget(message.number());
      case FROM.words:
        document.title = message.words();
        this.summary.textContent = message.words();
        return undefined;
      case FROM.copied: return this.copy(message.words());
      case FROM.texts: return this.lay(message);
      case FROM.beat: return this.send(new Message(TO.alive));
      case FROM.visit: return this.visit(message.words());
      case FROM.over: return void (this.over = message.words());
      default: throw new Error(`a message of kind ${bytes[0]}`);
    }
  }
  show(bytes) {
    const frame = readFrame(bytes, this.frame);
    if (!frame) return;
    if (!this.frame) {  // the first: all is well again
      this.pause = FIRST_PAUSE_MS;
      this.say('');
    }
    this.frame = frame;
    this.canvas.style.cursor = CURSORS[frame.cursor + 1] ?? 'default';
    this.redraw();
  }
  redraw() {
    this.due ||= requestAnimationFrame(() => {
      this.due = 0;
      if (!this.frame) return;
      const { width, height } = this.canvas, { frame } = this;
      const even = width === frame.width && height === frame.height;
      const scale = even ? 1 : Math.min(width / frame.width, height / frame.height);
      this.fit = { scale, x: (width - scale * frame.width) / 2, y: (height - scale * frame.height) / 2 };
      this.painter.draw(frame, this.fit);
      const ratio = this.ratio();
      this.texts.style.transform =
        `translate(${this.fit.x / ratio}px, ${this.fit.y / ratio}px) scale(${scale / ratio})`;
      this.send(new Message(TO.drawn).number(frame.number));
    });
  }

  ratio() { return this.canvas.width / this.canvas.clientWidth; }  // of the canvas's pixels to the page's
  size(message) {
    const scale = Math.min(MOST_SCALE, this.scale);
    return message.number(this.canvas.width).number(this.canvas.height).number(scale * 256);
  }
  resize(entry) {
    const exact = entry?.devicePixelContentBoxSize?.[0];
    if (exact) this.exact = [exact.inlineSize, exact.blockSize];
    const scale = devicePixelRatio, { clientWidth, clientHeight } = this.window;
    // How its edges were rounded is told when that changes; a browser that plays another screen tells it wrongly.
    const [width, height] = [clientWidth, clientHeight].map((length, i) => {
      const told = this.exact?.[i];
      return Math.abs(told - length * scale) < 1 ? told : Math.round(length * scale);
    });
    if (!width || !height) return;
    if (width === this.canvas.width && height === this.canvas.height && scale === this.scale) return;
    Object.assign(this.canvas, { width, height });
    this.scale = scale;
    this.send(this.size(new Message(TO.size)));
    this.redraw();
  }

  listen() {
    const observer = new ResizeObserver((entries) => this.resize(entries[0]));
    try { observer.observe(this.window, { box: 'device-pixel-content-box' }); } catch {
      observer.observe(this.window);  // this browser has no such box
    }
    addEventListener('resize', () => this.resize());
    addEventListener('online', () => this.hurry?.());
    document.addEventListener('visibilitychange', () => {
      this.send(this.shown());
      if (!document.hidden) this.hurry?.();
    });
    this.canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    this.canvas.addEventListener('webglcontextrestored', () => {
      this.painter = new Painter(this.canvas);
      this.repair('the graphics card was lost');
    });
    this.listenToMouse();
    this.listenToKeys();
  }
  at(event, message) {
    const box = this.canvas.getBoundingClientRect(), ratio = this.ratio();
    const place = (pixels, start, fit) => {
      const exact = ((pixels - start) * ratio - fit) / this.fit.scale * 16;
      return Math.max(-1e6, Math.min(1e6, exact));
    };
    message.signed(place(event.clientX, box.left, this.fit.x));
    return message.signed(place(event.clientY, box.top, this.fit.y));
  }
  // A second button that goes down or up while another is held comes as a move: what counts is what is down.
  listenToMouse() {
    const on = (kind, does, how) => this.window.addEventListener(kind, does, how);
    const isText = (event) => event.target.parentNode === this.texts;
    const press = (event, button, down) =>
      this.send(this.at(event, new Message(TO.button).number(button).number(down).number(held(event))));
    const pointer = (event) => {
      if (!event.isPrimary) return;
      let down = event.buttons & BUTTONS;
      if (event.type === 'pointerdown') {
        this.texted = isText(event) ? down & (LEFT | RIGHT) : 0;
        if (!this.texted) this.window.setPointerCapture(event.pointerId);
      }
      if (this.texted & event.buttons & LEFT && event.type === 'pointermove') this.extend(event);
      down &= ~this.texted;
      const changed = down ^ this.buttons;
      this.buttons = down;
      for (let button = 0; changed >> button; ++button)
        if (changed >> button & 1) press(event, button, down >> button & 1);
      if (!changed) this.send(this.at(event, new Message(TO.move)));
      if (event.type === 'pointerup' && this.texted === LEFT && getSelection().isCollapsed) {
        this.focus();  // nothing was selected: what lies below is clicked all the same
        for (const down of [1, 0]) press(event, 0, down);
      }
    };
    for (const kind of ['pointerdown', 'pointerup', 'pointermove', 'pointercancel']) on(kind, pointer);
    on('pointerleave', () => this.send(new Message(TO.leave)));
    on('mousedown', (event) => {
      if (this.texted & ~LEFT) return;  // the browser's menu copies
      event.preventDefault();
      getSelection().removeAllRanges();
      if (this.texted) return void this.select(event);
      if (this.passing) this.say('');
      Object.assign(this.keys.style, { left: `${event.clientX}px`, top: `${event.clientY}px` });
      this.focus();
    });
    on('contextmenu', (event) => isText(event) || event.preventDefault());
    on('wheel', (event) => {
      event.preventDefault();
      const unit = [-1, -100 / 3, -800][event.deltaMode];  // pixels, lines or pages, as hundredths of a notch
      const turn = (delta) => Math.max(-10000, Math.min(10000, delta * unit));
      const message = new Message(TO.wheel).number(held(event));
      this.send(this.at(event, message.signed(turn(event.deltaX)).signed(turn(event.deltaY))));
    }, { passive: false });
  }
  focus() { this.keys.focus({ preventScroll: true }); }
  listenToKeys() {
    const { keys } = this, elsewhere = (event) => this.note.contains(event.target);
    const key = (event, down) => {
      const code = keyOf(event), command = commands(event);
      // Words that are selected in the page are the browser's to copy.
      if (!code || elsewhere(event) || (command && code === 67 && !getSelection().isCollapsed)) return;
      if (document.activeElement !== keys && !/^(Shift|Control|Meta)$/.test(event.key)) this.focus();
      if (event.key.length > 1 || command) event.preventDefault();
      if (!down && event.key === 'Meta') return void this.send(new Message(TO.blur));  // it hid what was let go before
      if (down && event.repeat && event.key.length === 1) return;
      this.send(new Message(TO.key).number(code).number(down ? 1 : 0).number(held(event)));
    };
    document.addEventListener('keydown', (event) => key(event, true));
    document.addEventListener('keyup', (event) => key(event, false));
    keys.addEventListener('blur', () => this.send(new Message(TO.blur)));
    const typed = () => {
      keys.className = '';
      if (keys.value) this.send(new Message(TO.text).words(keys.value.slice(0, MOST_TYPED)));
      keys.value = '';
    };
    keys.addEventListener('compositionstart', () => { keys.className = 'composing'; });
    keys.addEventListener('compositionend', typed);
    keys.addEventListener('input', (event) => event.isComposing || typed());
    document.addEventListener('paste', (event) => {
      if (elsewhere(event)) return;
      event.preventDefault();
      const words = event.clipboardData.getData('text/plain').replaceAll('\0', '').slice(0, MOST_PASTED);
      if (words) this.send(new Message(TO.paste).words(words));
    });
    document.addEventListener('copy', (event) => {
      const range = getSelection().rangeCount ? getSelection().getRangeAt(0) : null;
      if (!range || range.collapsed || !this.texts.contains(range.commonAncestorContainer)) return;
      event.preventDefault();
      event.clipboardData.setData('text/plain', range.toString().replace(/\n$/, ''));
    });
    this.focus();
  }

  // Where words are selected to: the browser itself finds no place between rows, which lie anywhere.
  caret({ clientX: x, clientY: y }) {
    const far = (value, least, most) => Math.max(least - value, value - most, 0);
    const rows = [...this.texts.children].map((span) => [span.firstChild, span.getBoundingClientRect()]);
    const [row, box] = rows.filter(([words]) => words).reduce((best, one) => {
      const distance = ([, { left, right, top, bottom }]) => 1e4 * far(y, top, bottom) + far(x, left, right);
      return distance(one) < distance(best) ? one : best;
    });
    const end = row.data.replace(/\n$/, '').length;
    if (x <= box.left || x >= box.right) return [row, x <= box.left ? 0 : end];
    const place = [x, (box.top + box.bottom) / 2];
    const found = document.caretPositionFromPoint?.(...place);
    const { startContainer, startOffset } = found ? {} : document.caretRangeFromPoint(...place);
    return (found?.offsetNode ?? startContainer) === row ? [row, found?.offset ?? startOffset] : [row, 0];
  }
  // A press takes no word yet, two take one, three a row.
  select(event) {
    const selection = getSelection();
    this.anchor = this.caret(event);
    selection.collapse(...this.anchor);
    if (event.detail === 2) {
      selection.modify('move', 'backward', 'word');
      selection.modify('extend', 'forward', 'word');
    } else if (event.detail > 2) selection.selectAllChildren(this.anchor[0].parentNode);
  }
  extend(event) {
    if (this.anchor[0].isConnected) getSelection().setBaseAndExtent(...this.anchor, ...this.caret(event));
  }

  // Words that can be selected lie over those that are drawn, and cannot be seen. Those that are there already stay,
  // and stay selected.
  lay(message) {
    const rows = [];
    let next = this.texts.firstChild;
    for (let left = message.number(MOST_ROWS); left > 0; --left) {
      const box = message.box(), seen = message.box(), words = message.words();
      let span = next;
      while (span && span.textContent !== words) span = span.nextSibling;
      if (span) {
        while (next !== span) { next = next.nextSibling; next.previousSibling.remove(); }
        next = span.nextSibling;
      } else {
        span = document.createElement('span');
        span.textContent = words;
        this.texts.insertBefore(span, next);
      }
      rows.push([span, box, seen]);
    }
    while (next) { const last = next; next = next.nextSibling; last.remove(); }
    for (const [{ style }, [x, y, , height]] of rows) {
      Object.assign(style, { left: `${x}px`, top: `${y}px` });
      Object.assign(style, { fontSize: `${height * 0.75}px`, lineHeight: `${height}px` });
    }
    const widths = rows.map(([span]) => span.offsetWidth);
    for (const [i, [{ style }, [x, y, width, height], [left, top, seen, high]]] of rows.entries()) {
      const wider = widths[i] ? width / widths[i] : 1;  // this browser's font may be another
      style.transform = `scaleX(${wider})`;
      style.clipPath = `inset(${top - y}px ${(x + width - left - seen) / wider}px ${y + height - top - high}px ` +
        `${(left - x) / wider}px)`;
    }
  }

  say(words, ...more) {
    this.note.hidden = !words;
    this.note.replaceChildren(words, ...more);
    this.passing = more.length > 0;
  }
  async copy(words) {
    try { await navigator.clipboard.writeText(words); } catch {
      const box = document.createElement('textarea');  // this browser gives the clipboard to pages of https alone
      Object.assign(box, { value: words, readOnly: true });
      box.addEventListener('copy', () => setTimeout(() => { this.say(''); this.focus(); }));
      this.say('Press Ctrl+C to copy:', box);
      box.select();
    }
  }
  visit(address) {
    if (!/^https?:\/\//.test(address)) return;
    const link = document.createElement('a');
    Object.assign(link, { href: address, target: '_blank', rel: 'noopener noreferrer', textContent: address });
    link.addEventListener('click', () => { this.say(''); this.focus(); });
    this.say('Open ', link);
    link.focus();
  }
}

history.replaceState(null, '', location.pathname);  // the token does not stay in the address
try { new Tab(); } catch (error) {
  const note = document.getElementById('note');
  note.hidden = false;
  note.textContent = `The window cannot be drawn here: ${error.message}. In a terminal, ` +
    './isobar show last --follow tells the same in words.';
}
