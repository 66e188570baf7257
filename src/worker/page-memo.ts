import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { FoundLink, Harvest } from '../spider/spider.js'

/** What a page gave, as far as it is needed again when the page has not changed. */
export interface PageMemo {
  readonly links: readonly FoundLink[]
  /** Kind and key of each record. */
  readonly records: readonly (readonly [kind: string, key: string])[]
  /** Of the answer, where the raw page is kept: the next visit has the same page. */
  readonly headers: FetchResponse['headers'] | null
}

/** Below this there is nothing to gain: compressing costs 30 µs however short the text is. */
const WORTH_PACKING = 512
const PLAIN = 0
const DEFLATED = 1
/** Links of a page take a kilobyte or two. One that needs more than this is read again each time. */
const MOST_BYTES = 256 * 1024

/** Null: too much to keep. All links are kept, those that the queue knows as well: the page that gave one first may lose it. */
export function packMemo(harvest: Harvest, mostLinks: number, headers: PageMemo['headers']): Uint8Array | null {
  const links = new Set(harvest.links.slice(0, mostLinks).map((link) => JSON.stringify(link)))
  const records = JSON.stringify(harvest.records.map(({ kind, key }) => [kind, key]))
  const text = Buffer.from(
    `{"links":[${[...links].join(',')}],"records":${records},"headers":${JSON.stringify(headers)}}`,
  )
  const plain = text.length < WORTH_PACKING
  const packed = Buffer.concat([Buffer.of(plain ? PLAIN : DEFLATED), plain ? text : deflateRawSync(text, { level: 1 })])
  return packed.length > MOST_BYTES ? null : packed
}

/** Null: written by a version that packs otherwise. */
export function unpackMemo(packed: Uint8Array): PageMemo | null {
  const [form] = packed
  if (form !== PLAIN && form !== DEFLATED) return null
  const rest = packed.subarray(1)
  const text = Buffer.from(form === PLAIN ? rest : inflateRawSync(rest)).toString()
  return JSON.parse(text) as PageMemo
}
