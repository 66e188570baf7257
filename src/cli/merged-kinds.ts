import { ShoalError } from '../errors.js'
import type { Spider } from '../spider/spider.js'

/** The kinds of a spider that say how they are merged: all of them, or the one that was asked for. */
export function mergedKinds(spider: Spider, asked: string | undefined): string[] {
  const kinds = [...spider.records].filter(([, { merge }]) => merge !== null).map(([kind]) => kind)
  if (asked === undefined ? kinds.length > 0 : kinds.includes(asked)) return asked === undefined ? kinds : [asked]
  const what = asked === undefined ? `no kind of ${spider.name}` : `the kind ${asked} of ${spider.name}`
  throw new ShoalError('usage', `${what} says how its records are merged`, {
    hint: 'Give the kind a merge in the spider: see docs/merge.md.',
  })
}
