/** The public API of 'shoal/test': one page through a spider, for a test in any test runner. */
export type { Difference } from './fixture/differences.js'
export type { RefusedLink } from './fixture/page-result.js'
export {
  type FixtureResult,
  type SpiderTest,
  type TestedRecord,
  type TestOptions,
  type TestPage,
  type TestResult,
  testSpider,
} from './testing/test-spider.js'
