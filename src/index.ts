/** The public API: what a spider file or a program may import from 'shoal'. */

export {
  type ConfigDefinition,
  defineConfig,
  type EnvironmentDefinition,
  type SettingsDefinition,
} from './config-definition.js'
export { connect } from './connect.js'
export { ERRORS, type ErrorCode, EXIT, type Next, ShoalError } from './errors.js'
export type { Fetcher, FetchLimits, FetchRequest, FetchResponse } from './fetch/fetcher.js'
export type * from './frontier/frontier.js'
export type { Added, Crawl, RecordOf, RunWorkersOptions } from './library/crawl.js'
export type { ConnectOptions, CrawlOptions, Shoal } from './library/shoal.js'
export type { LogLevel } from './log.js'
export type { Conversion } from './spider/convert/convert.js'
export type { DecimalMark } from './spider/convert/numbers.js'
export type { DateOrder } from './spider/convert/numeric-date.js'
export type * from './spider/definition.js'
export { defineSpider } from './spider/definition.js'
export type { FieldDefinition, FieldOptions } from './spider/fields.js'
export type { Page } from './spider/page.js'
export type { PageLink, Pagination } from './spider/pagination.js'
export { type SecretForm, secret } from './spider/secret-reference.js'
export {
  csv,
  feed,
  type ListingSource,
  type ListingSourceOptions,
  lines,
  range,
  type SeedDefinition,
  type SeedFunction,
  type SeedSourceDefinition,
  sitemap,
  sql,
} from './spider/seed-sources.js'
export type { BlobRef, BlobStore } from './store/blob-store.js'
export type * from './store/changes.js'
export type * from './store/entities.js'
export type { FieldQuery, FieldStats } from './store/field-stats.js'
export type * from './store/history.js'
export type * from './store/record-store.js'
export type { LastVisit, VisitCounts, VisitRow, Visits } from './store/visits.js'
export type { Duration, Rate, Size, SizeUnit, TimeUnit } from './units.js'
export type { Fingerprint, HostKey, Json, Link, RequestExtras } from './url/link.js'
export type { TemplateValues } from './url/template.js'
export { version } from './version.js'
