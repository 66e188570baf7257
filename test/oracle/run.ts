import { type Answers, type Document, document, SEPARATOR } from './answers.js'
import type { Chromium } from './chromium.js'
import { compare, type Difference } from './compare.js'
import { reasonOf } from './known.js'
import { followed, readWithShoal } from './shoal.js'

/** What came of comparing a list of documents. */
export interface Report {
  documents: number
  values: number
  /** Differences that a reason explains: how many documents and values, by reason. */
  readonly known: Map<string, { documents: number; values: number }>
  readonly unexplained: { readonly document: Document; readonly differences: readonly Difference[] }[]
}

export function emptyReport(): Report {
  return { documents: 0, values: 0, known: new Map(), unexplained: [] }
}

/** Generated documents go to the browser in batches: one call each would take most of the time. */
const BATCH = 250

/** Each page as a response of a server. */
export async function comparePages(
  pages: readonly Document[],
  chromium: Chromium,
  report: Report,
  onDone: (done: number) => void = () => {},
): Promise<void> {
  for (const [index, page] of pages.entries()) {
    add(report, page, await chromium.load(page), chromium.url)
    onDone(index + 1)
  }
}

/** Each text as the browser's parser reads it. */
export async function compareTexts(
  texts: readonly string[],
  chromium: Chromium,
  report: Report,
  onDone: (done: number) => void = () => {},
): Promise<void> {
  for (let start = 0; start < texts.length; start += BATCH) {
    const batch = texts.slice(start, start + BATCH)
    const answers = await chromium.parse(batch)
    for (const [index, text] of batch.entries()) {
      const generated = document(`document ${start + index + 1}`, text, 'text/html; charset=utf-8')
      add(report, generated, answers[index] ?? {}, chromium.url)
    }
    onDone(start + batch.length)
  }
}

function add(report: Report, document: Document, answers: Answers, url: string): void {
  const hrefs = (answers.links ?? '').split(SEPARATOR).map((href) => ({ href }))
  const theirs = { ...answers, followed: answers.links === '' ? '' : followed(hrefs, url) }
  const { compared, differences } = compare(document.name, theirs, readWithShoal(document, url))
  report.documents++
  report.values += compared
  const unexplained: Difference[] = []
  const counted = new Set<string>()
  for (const difference of differences) {
    const reason = reasonOf(difference, document, answers)
    if (reason === null) {
      unexplained.push(difference)
      continue
    }
    const count = report.known.get(reason) ?? { documents: 0, values: 0 }
    report.known.set(reason, count)
    count.values++
    if (!counted.has(reason)) count.documents++
    counted.add(reason)
  }
  if (unexplained.length > 0) report.unexplained.push({ document, differences: unexplained })
}
