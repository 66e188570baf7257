/** The public surface: what a spider file and a program may import from 'shoal'. */
export { ERRORS, type ErrorCode, EXIT, type Next, ShoalError } from './errors.js'
export type {
  BackoffDefinition,
  BudgetDefinition,
  CanonicalDefinition,
  FetchDefinition,
  FollowDefinition,
  FollowOptions,
  InputOf,
  LeaseDefinition,
  Out,
  PaceDefinition,
  Pattern,
  Patterns,
  RecordDefinition,
  RecordDefinitions,
  RecordRule,
  RetriesDefinition,
  RouteDefinition,
  ScopeDefinition,
  SpiderDefinition,
  Step,
  StepRecord,
  TaggedDefinition,
  TrapsDefinition,
} from './spider/definition.js'
export { defineSpider } from './spider/definition.js'
export { loadSpider } from './spider/load.js'
export type { Page } from './spider/page.js'
export { spiderFromDefinition } from './spider/resolve.js'
export type { Spider } from './spider/spider.js'
export type { Duration, Rate, Size } from './units.js'
export { version } from './version.js'
