/** The public API of 'shoal/test': one page through a spider, for a test in any test runner. */
export type { Difference } from './fixture/differences.js'
export type { PageResult, RefusedLink } from './fixture/page-result.js'
export type { HarvestedRecord, RejectedHarvest } from './spider/spider.js'
export {
  type FixtureResult,
  type SpiderTest,
  type TestedRecord,
  type TestOptions,
  type TestPage,
  type TestPageBasics,
  type TestResult,
  testSpider,
} from './testing/test-spider.js'
