/**
 * What the tree construction rules of the HTML standard know about each tag name, as small integers.
 * A name that is not here is an ordinary phrasing element.
 */

/** How a start tag is treated "in body"; one switch in start-tags.ts. */
export const Kind = {
  ordinary: 0,
  block: 1,
  heading: 2,
  pre: 3,
  form: 4,
  li: 5,
  ddDt: 6,
  button: 7,
  a: 8,
  formatting: 9,
  nobr: 10,
  marker: 11,
  table: 12,
  void: 13,
  hr: 14,
  headVoid: 15,
  title: 16,
  style: 17,
  script: 18,
  textarea: 19,
  xmp: 20,
  rawText: 21,
  noscript: 22,
  select: 23,
  option: 24,
  ruby: 25,
  foreign: 26,
  tablePart: 27,
  html: 28,
  head: 29,
  body: 30,
  template: 31,
  /** Rare, and able to rebuild what was seen before: the tree decides. */
  unsure: 32,
  frame: 33,
} as const

/** Bits of `FLAGS`. */
export const SPECIAL = 1
export const SCOPE = 2
export const IMPLIED_END = 4
export const IMPLIED_END_THOROUGH = 8
export const FORMATTING = 16
/** Popping one changes the insertion mode. */
export const MODE = 32
/** Ends foreign content when it starts inside svg or math. */
export const BREAKS_OUT = 64
/** Its text is apart from what comes before and after it: page-text.ts. */
export const SEPARATES = 128
/** A reader does not see its contents. */
export const HIDDEN = 256

const KINDS: readonly (readonly [number, string])[] = [
  [
    Kind.block,
    'p div ul ol dl dir nav main menu aside center figure footer header hgroup dialog details address article search section summary fieldset blockquote figcaption',
  ],
  [Kind.heading, 'h1 h2 h3 h4 h5 h6'],
  [Kind.pre, 'pre listing'],
  [Kind.form, 'form'],
  [Kind.li, 'li'],
  [Kind.ddDt, 'dd dt'],
  [Kind.button, 'button'],
  [Kind.a, 'a'],
  [Kind.formatting, 'b i s u em tt big code font small strike strong'],
  [Kind.nobr, 'nobr'],
  [Kind.marker, 'applet object marquee'],
  [Kind.table, 'table'],
  [Kind.void, 'br img wbr area embed keygen input param track source'],
  [Kind.hr, 'hr'],
  [Kind.headVoid, 'base link meta bgsound basefont'],
  [Kind.title, 'title'],
  [Kind.style, 'style noframes'],
  [Kind.script, 'script'],
  [Kind.textarea, 'textarea'],
  [Kind.xmp, 'xmp'],
  [Kind.rawText, 'iframe noembed'],
  [Kind.noscript, 'noscript'],
  [Kind.select, 'select'],
  [Kind.option, 'option optgroup'],
  [Kind.ruby, 'rb rtc rt rp'],
  [Kind.foreign, 'svg math'],
  [Kind.tablePart, 'caption col colgroup tbody thead tfoot tr td th'],
  [Kind.html, 'html'],
  [Kind.head, 'head'],
  [Kind.body, 'body'],
  [Kind.template, 'template'],
  [Kind.unsure, 'frameset plaintext image'],
  [Kind.frame, 'frame'],
  [
    Kind.ordinary,
    'span label abbr cite q sub sup var kbd samp mark time data picture video audio canvas map ruby ins del dfn bdi bdo output progress meter legend datalist slot path g circle rect line polygon polyline ellipse use defs symbol text tspan desc foreignobject lineargradient radialgradient stop clippath mask mi mo mn ms mtext annotation-xml mrow',
  ],
]

const FLAG_NAMES: readonly (readonly [number, string])[] = [
  [
    SPECIAL,
    'address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input li link listing main marquee menu meta nav noembed noframes noscript object ol p param plaintext pre script section select source style summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp',
  ],
  [SCOPE, 'applet caption html marquee object table td template th'],
  [IMPLIED_END, 'dd dt li optgroup option p rb rp rt rtc'],
  [IMPLIED_END_THOROUGH, 'dd dt li optgroup option p rb rp rt rtc caption colgroup tbody td tfoot th thead tr'],
  [FORMATTING, 'a b big code em font i nobr s small strike strong tt u'],
  [MODE, 'table tbody thead tfoot tr td th caption colgroup select'],
  [
    BREAKS_OUT,
    'b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var',
  ],
  [
    SEPARATES,
    'address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol optgroup option p pre search section select summary table td textarea th tr ul xmp',
  ],
  [HIDDEN, 'iframe noembed noframes noscript script style template title'],
]

/** Index is the tag's id; id 0 is no tag. */
export const NAMES: readonly string[] = ['', ...KINDS.flatMap(([, names]) => names.split(' '))]
const KNOWN = NAMES.length

const ids = new Map(NAMES.map((name, id) => [name, id]))

/** The id of a known name; 0 when it is not known. */
export function tagId(name: string): number {
  return ids.get(name) ?? 0
}

const KINDS_BY_ID = new Uint8Array(KNOWN)
for (const [kind, names] of KINDS) for (const name of names.split(' ')) KINDS_BY_ID[tagId(name)] = kind

const FLAGS = new Uint16Array(KNOWN)
for (const [flag, names] of FLAG_NAMES)
  for (const name of names.split(' ')) FLAGS[tagId(name)] = (FLAGS[tagId(name)] ?? 0) | flag

export function flagsOf(id: number): number {
  return id < KNOWN ? (FLAGS[id] ?? 0) : 0
}

export function kindOf(id: number): number {
  return id < KNOWN ? (KINDS_BY_ID[id] ?? 0) : 0
}

/** Ids the scanner asks for by name. */
export const T = {
  html: tagId('html'),
  head: tagId('head'),
  body: tagId('body'),
  p: tagId('p'),
  a: tagId('a'),
  li: tagId('li'),
  ul: tagId('ul'),
  ol: tagId('ol'),
  dd: tagId('dd'),
  dt: tagId('dt'),
  div: tagId('div'),
  address: tagId('address'),
  button: tagId('button'),
  form: tagId('form'),
  nobr: tagId('nobr'),
  table: tagId('table'),
  tbody: tagId('tbody'),
  thead: tagId('thead'),
  tfoot: tagId('tfoot'),
  tr: tagId('tr'),
  td: tagId('td'),
  th: tagId('th'),
  caption: tagId('caption'),
  col: tagId('col'),
  colgroup: tagId('colgroup'),
  select: tagId('select'),
  option: tagId('option'),
  optgroup: tagId('optgroup'),
  input: tagId('input'),
  keygen: tagId('keygen'),
  textarea: tagId('textarea'),
  script: tagId('script'),
  template: tagId('template'),
  noscript: tagId('noscript'),
  noframes: tagId('noframes'),
  style: tagId('style'),
  title: tagId('title'),
  base: tagId('base'),
  br: tagId('br'),
  hr: tagId('hr'),
  ruby: tagId('ruby'),
  rtc: tagId('rtc'),
  rb: tagId('rb'),
  svg: tagId('svg'),
  math: tagId('math'),
} as const

export function isMarker(id: number): boolean {
  return kindOf(id) === Kind.marker || id === T.td || id === T.th || id === T.caption
}

/** Inside these, HTML rules apply again although the element is foreign. */
export const INTEGRATION_POINTS: ReadonlySet<number> = new Set(
  ['title', 'desc', 'foreignobject', 'mi', 'mo', 'mn', 'ms', 'mtext', 'annotation-xml'].map(tagId),
)

/**
 * Six bits for every character a name usually has, letters without regard to case; 0 for all others. A name of up to
 * ten such characters is two small integers, and finding its id is a comparison of numbers.
 */
export const PACK = new Uint8Array(65536)
for (const [bits, char] of [...'abcdefghijklmnopqrstuvwxyz0123456789-:_'].entries()) {
  PACK[char.charCodeAt(0)] = bits + 1
  PACK[char.toUpperCase().charCodeAt(0)] = bits + 1
}

export const PACKED_HALF = 5
export const PACKED_MAX = 10

/** Names (lower case) to ids: the id of `names[i]` is i; names[0] is no name. */
export interface NameTable {
  readonly names: readonly string[]
  /** By id; 0 for names that cannot be packed. */
  readonly first: Int32Array
  readonly second: Int32Array
  /** Hash table of ids. */
  readonly slots: Int16Array
  readonly mask: number
  /** Names that cannot be packed. */
  readonly odd: ReadonlyMap<string, number>
}

export function slotOf(first: number, second: number): number {
  const mixed = Math.imul(first ^ Math.imul(second, 0x85ebca6b), 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}

export function nameTable(names: readonly string[]): NameTable {
  let size = 16
  while (size < names.length * 4) size *= 2
  const slots = new Int16Array(size)
  const mask = size - 1
  const first = new Int32Array(names.length)
  const second = new Int32Array(names.length)
  const odd = new Map<string, number>()
  for (const [id, name] of names.entries()) {
    if (id === 0) continue
    const codes = [...name].map((char) => PACK[char.charCodeAt(0)] ?? 0)
    if (codes.length > PACKED_MAX || codes.includes(0)) {
      odd.set(name, id)
      continue
    }
    const pack = (part: readonly number[]): number => part.reduce((packed, code) => (packed << 6) | code, 0)
    const one = pack(codes.slice(0, PACKED_HALF))
    const two = pack(codes.slice(PACKED_HALF))
    first[id] = one
    second[id] = two
    let slot = slotOf(one, two) & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    slots[slot] = id
  }
  return { names, first, second, slots, mask, odd }
}
