import { expect, it } from 'vitest'
import { parseHtml } from '../../../../src/spider/html/parse-html.js'
import { compareFor, FEW_SELECTORS, PAGE_TEXT, SELECTORS } from '../compare.js'
import { dumpTree, normalized } from './dump-tree.js'
import { EXPLAINED } from './explained.js'
import { readTreeTests } from './read-tests.js'

const TESTS = readTreeTests().filter(({ fragment, scripting }) => !fragment && !scripting)

it('builds the trees of the HTML standard', () => {
  const failed = TESTS.filter(({ html, expected }) => dumpTree(parseHtml(html)) !== normalized(expected))
  const passed = TESTS.length - failed.length
  console.info(`html5lib, tree construction without scripts: ${passed} of ${TESTS.length} (${percent(passed)} %)`)
  for (const { reason, pages } of EXPLAINED) console.info(`${pages.length} differ: ${reason}`)
  const explained = EXPLAINED.flatMap(({ pages }) => pages)
  expect(failed.map(({ html }) => html).toSorted()).toEqual(explained.toSorted())
  expect(passed / TESTS.length).toBeGreaterThanOrEqual(0.99)
})

it.each([SELECTORS, FEW_SELECTORS, PAGE_TEXT])('never contradicts the tree while scanning', (...selectors) => {
  const { scanned, onTree } = compareFor(selectors)
  let sure = 0
  for (const { html } of TESTS) {
    const found = scanned(html)
    if (found === null) continue
    sure++
    expect({ html, found }).toEqual({ html, found: onTree(html) })
  }
  console.info(`html5lib, scanner with ${selectors.length} selectors: sure of ${sure} (${percent(sure)} %), 0 wrong`)
})

function percent(part: number): string {
  return ((100 * part) / TESTS.length).toFixed(2)
}
