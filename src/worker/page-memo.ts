import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { FoundLink, Harvest } from '../spider/spider.js'

/** What a page gave, as far as the next visit needs it if the page has not changed. */
export interface PageMemo {
  readonly links: readonly FoundLink[]
  /** Kind and key of each record. */
  readonly records: readonly (readonly [kind: string, key: string])[]
  /** Of the response, where the raw page is kept: the next visit refers to the same page. */
  readonly headers: FetchResponse['headers'] | null
}

/** Shorter texts are not worth compressing: it takes 30 µs however short they are. */
const WORTH_PACKING = 512
const PLAIN = 0
const DEFLATED = 1
/** The links of a page take a kilobyte or two. A page that needs more than this is read again each time. */
const MOST_BYTES = 256 * 1024

/** Null: too large. All links are kept, even those that the queue has: the page that had a link first may lose it. */
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

/** Null: written by a version with another format. */
export function unpackMemo(packed: Uint8Array): PageMemo | null {
  const [form] = packed
  if (form !== PLAIN && form !== DEFLATED) return null
  const rest = packed.subarray(1)
  const text = Buffer.from(form === PLAIN ? rest : inflateRawSync(rest)).toString()
  return JSON.parse(text) as PageMemo
}
