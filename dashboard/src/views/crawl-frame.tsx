import type { ComponentChildren } from 'preact'
import type { CrawlView } from '../../../src/api/api-types.js'
import { argumentsText, shortCount } from '../format.js'
import { useLive } from '../live.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { StateBadge } from '../parts/state-badge.js'
import { Tabs } from '../parts/tabs.js'
import { CRAWL_VIEWS, type CrawlViewName, crawlHref } from '../router.js'
import { CrawlControls } from './crawl-controls.js'

const NAMES: Readonly<Record<CrawlViewName, string>> = {
  live: 'Live',
  hosts: 'Hosts',
  links: 'Links',
  dead: 'Dead letters',
  explain: 'Explain a URL',
}

export interface CrawlFrameProps {
  readonly crawl: string
  readonly part: CrawlViewName
  /** Renders the view. */
  readonly children: (view: CrawlView) => ComponentChildren
}

/** What all views of a crawl share: name, state, controls and tabs. */
export function CrawlFrame({ crawl, part, children }: CrawlFrameProps) {
  const { crawl: view, failure } = useLive()
  if (failure?.code === 'not_found') return <NoCrawl crawl={crawl} />
  if (view === null || view.stats.id !== crawl) {
    return (
      <>
        <h1>
          <bdi>{crawl}</bdi>
        </h1>
        {failure === null ? <Loading what="Loading the crawl" /> : <Failure failure={failure} />}
      </>
    )
  }
  const { stats } = view
  const tabs = CRAWL_VIEWS.map((one) => ({
    href: crawlHref(crawl, one),
    name: NAMES[one],
    here: one === part,
    ...(one === 'dead' && stats.dead > 0 ? { note: shortCount(stats.dead) } : {}),
  }))
  return (
    <>
      <header class="view-head">
        <div>
          <h1>
            <bdi>{stats.id}</bdi>
          </h1>
          <StateBadge state={stats.state} />
          {stats.spider === stats.id ? null : (
            <span class="muted">
              spider <bdi>{stats.spider}</bdi>
            </span>
          )}
          {stats.args === undefined ? null : (
            <span class="muted">
              with <bdi>{argumentsText(stats.args)}</bdi>
            </span>
          )}
        </div>
        <CrawlControls crawl={stats} />
      </header>
      {failure === null ? null : <Failure failure={failure} />}
      <Tabs label="Views of this crawl" tabs={tabs} />
      {children(view)}
    </>
  )
}

/** The crawl was deleted, perhaps while being viewed, or never existed. */
function NoCrawl({ crawl }: { readonly crawl: string }) {
  return (
    <>
      <h1>
        <bdi>{crawl}</bdi>
      </h1>
      <Empty title="This crawl does not exist, or was deleted.">
        <a href="#/">Go to the overview</a>
      </Empty>
    </>
  )
}

export function NotThere() {
  return (
    <>
      <h1>Page not found</h1>
      <Empty title="This page does not exist.">
        <a href="#/">Go to the overview</a>
      </Empty>
    </>
  )
}
