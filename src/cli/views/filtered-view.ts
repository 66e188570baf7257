import type { CrawlStats } from '../../frontier/frontier.js'
import { type DescribedLinks, describeFiltered } from '../../url/filter-reasons.js'
import { clean } from '../terminal/clean.js'
import { count, noun, plural } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

/** From this many links on, what seems to be a session id is worth a warning: the site may be endless. */
const MANY_LIKELY = 100

/** What the filter did to the links of a crawl, and how many the queue had no room for; nothing if all were accepted as they are. */
export function filteredLines(
  { filtered, refused }: Pick<CrawlStats, 'filtered' | 'refused'>,
  style: Style,
  mostReasons = Number.POSITIVE_INFINITY,
): string[] {
  const all = describeFiltered(filtered)
  const kept = all.filter(({ effect }) => effect === 'kept')
  const dropped = all.filter(({ reason }) => reason === 'too_many_links')
  const touched = all.filter((one) => one.effect !== 'kept' && !dropped.includes(one))
  const total = touched.reduce((sum, one) => sum + one.count, 0)
  const more = touched.length - mostReasons
  return [
    ...(total === 0 ? [] : [`  ${figure(total)}  ${noun(total, 'link')} changed or rejected by the scope`]),
    ...touched.slice(0, mostReasons).map((one) => `             ${style.dim(reasonText(one))}`),
    ...(more > 0 ? [`             ${style.dim(`and ${plural(more, 'other reason')}: shoal status`)}`] : []),
    ...dropped.flatMap((one) => [
      `  ${figure(one.count)}  ${style.yellow(droppedText(one))}`,
      ...pageLines(one, style),
    ]),
    ...kept.flatMap((one) => {
      const paint = one.count >= MANY_LIKELY ? style.yellow : style.dim
      return [`  ${figure(one.count)}  ${paint(keptText(one))}`, ...exampleLines(one, style)]
    }),
    ...(refused === 0
      ? []
      : [`  ${figure(refused)}  ${noun(refused, 'link')} rejected: the queue was full or a budget was used up`]),
  ]
}

function reasonText({ effect, words, setting, count: links, example }: DescribedLinks): string {
  const by = setting === null ? '' : ` (${setting})`
  return `${effect}: ${words} × ${count(links)}${by}${example === null ? '' : `, for example ${exampleText(example)}`}`
}

/** Always named: nobody else notices that a page had more. */
function droppedText({ count: links, setting }: DescribedLinks): string {
  return `${noun(links, 'link')} dropped: a page has more than ${setting}`
}

function pageLines({ example }: DescribedLinks, style: Style): string[] {
  return example === null ? [] : [`             ${style.dim(`on ${clean(example.url)}`)}`]
}

function keptText({ count: links, words, setting }: DescribedLinks): string {
  return `${noun(links, 'link')} kept: ${words} (${setting})`
}

function exampleLines({ example }: DescribedLinks, style: Style): string[] {
  return example === null ? [] : [`             ${style.dim(`for example ${exampleText(example)}`)}`]
}

function exampleText({ url, became }: NonNullable<DescribedLinks['example']>): string {
  return became === null ? clean(url) : `${clean(url)} → ${clean(became)}`
}

function figure(value: number): string {
  return count(value).padStart(9)
}
