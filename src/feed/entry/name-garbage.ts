/** Bytes that are not UTF-8 are read as this character. */
const NOT_TEXT = '\uFFFD'
/** The protocols 2 to 5 of pickle begin with the byte 0x80 and their number. */
const PICKLES = ['\u0002', '\u0003', '\u0004', '\u0005'].map((protocol) => NOT_TEXT + protocol)
const GZIP = `\u001f${NOT_TEXT}\b`
/** The header of zlib: `x`, and a byte for the level. */
const ZLIB = ['x\u0001', 'x^', `x${NOT_TEXT}`]
const JOB_ID = /^(?:\d{1,20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})$/i

type Looks = (text: string) => boolean

/** What an entry without a URL looks like, and what to do about it. The first that matches. */
const KINDS: readonly (readonly [looks: Looks, reason: string])[] = [
  [
    // Protocol 0 is text, one instruction per line, and ends with a full stop.
    (text) =>
      PICKLES.some((start) => text.startsWith(start)) || (/^(?:\(|c[\w.]+\n)/.test(text) && /\n.*\.$/.test(text)),
    'it is a pickled Python object, which only Python can read: push JSON (json.dumps)',
  ],
  [(text) => text.startsWith(GZIP), 'it is compressed with gzip: push it as text'],
  [(text) => ZLIB.some((start) => text.startsWith(start)), 'it is compressed with zlib: push it as text'],
  [
    (text) => /^b(['"])/.test(text) && text.at(-1) === text[1],
    "it is Python's way of showing bytes: decode them before they are pushed",
  ],
  [
    (text) => /^[{[][{[\s]*(?:'|u'|\w+\s*:)/.test(text),
    'it is a Python or JavaScript object as text, not JSON: use json.dumps or JSON.stringify',
  ],
  [
    (text) => JOB_ID.test(text),
    'it is the id of a job, not the job: rq and BullMQ keep the job itself under another key. Push its URL or JSON',
  ],
  [(text) => text === '[object Object]', 'it is what JavaScript makes of an object as text: use JSON.stringify'],
]

/** Null: nothing in particular. */
export function nameGarbage(text: string): string | null {
  const known = KINDS.find(([looks]) => looks(text))
  if (known !== undefined) return known[1]
  const start = text.slice(0, 1_000)
  const strange = [...start].filter((character) => character === NOT_TEXT || (character < ' ' && !/\s/.test(character)))
  return strange.length > start.length / 10 ? 'it is binary data, neither a URL nor JSON' : null
}
