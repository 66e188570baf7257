import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { type Live, useLive } from './live.js'
import { Icon, type Shape } from './parts/icon.js'
import { Mark } from './parts/mark.js'
import type { PlainView, Route } from './router.js'
import { useStore } from './store.js'
import { nextTheme, type Theme, theme } from './theme.js'
import { dropToken } from './token.js'

const PLACES: readonly { readonly view: PlainView; readonly href: string; readonly name: string }[] = [
  { view: 'overview', href: '#/', name: 'Crawls' },
  { view: 'workers', href: '#/workers', name: 'Workers' },
  { view: 'proxies', href: '#/proxies', name: 'Proxies' },
  { view: 'records', href: '#/records', name: 'Records' },
  { view: 'alerts', href: '#/alerts', name: 'Alerts' },
  { view: 'audit', href: '#/audit', name: 'Audit log' },
]

/** The frame of every view: navigation, connection state, theme. */
export function Shell({ route, children }: { readonly route: Route; readonly children: ComponentChildren }) {
  const live = useLive()
  const main = useRef<HTMLElement>(null)
  const at = route.view === 'crawl' ? `crawl/${route.crawl}/${route.part}` : route.view
  useNewPlace(at, main)
  const here = route.view === 'crawl' ? 'overview' : route.view
  const alerts = live.overview?.alerts.length ?? 0
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href="#/">
          <Mark /> <span>Shoal</span>
        </a>
        <nav aria-label="Main">
          {PLACES.map(({ view, href, name }) => (
            <a key={view} class="nav-link" href={href} aria-current={view === here ? 'page' : undefined}>
              {name}
              {view === 'alerts' && alerts > 0 ? (
                <span class="note bad">
                  {alerts}
                  <span class="unseen"> active</span>
                </span>
              ) : null}
            </a>
          ))}
        </nav>
        <div class="top-end">
          <Connection live={live} />
          <ThemeButton />
          <button type="button" class="icon-button" onClick={dropToken} title="Sign out">
            <Icon shape="out" size={16} />
            <span class="unseen">Sign out</span>
          </button>
        </div>
      </header>
      {live.connection === 'lost' ? (
        <div class="lost" role="status">
          <Icon shape="warn" /> Connection lost, reconnecting. You are seeing the last data received.
        </div>
      ) : null}
      {live.connection === 'ended' ? (
        <div class="lost" role="status">
          <Icon shape="warn" /> The command that served this page has ended. You are seeing the last data received.
        </div>
      ) : null}
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      <footer>
        {live.overview === null ? null : (
          <>
            Shoal {live.overview.version} <span aria-hidden="true">·</span> queue <bdi>{live.overview.queue}</bdi>{' '}
            <span aria-hidden="true">·</span> records <bdi>{live.overview.store}</bdi>
          </>
        )}
      </footer>
    </div>
  )
}

const WORDS: Readonly<Record<Live['connection'], string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'lost',
  ended: 'ended',
}

function Connection({ live }: { readonly live: Live }) {
  return (
    <span class={`connection ${live.connection}`} aria-live="polite">
      <span class="pulse" aria-hidden="true" />
      <span class="unseen">Connection: </span>
      {WORDS[live.connection]}
    </span>
  )
}

const SHAPES: Readonly<Record<Theme, Shape>> = { auto: 'auto', light: 'sun', dark: 'moon' }
const THEMES: Readonly<Record<Theme, string>> = { auto: 'system', light: 'light', dark: 'dark' }

function ThemeButton() {
  const now = useStore(theme)
  return (
    <button type="button" class="icon-button" onClick={nextTheme} title={`Theme: ${THEMES[now]}`}>
      <Icon shape={SHAPES[now]} size={16} />
      <span class="unseen">Theme: {THEMES[now]}. Change</span>
    </button>
  )
}

/** A new view starts at the top, and a screen reader announces its heading. */
function useNewPlace(at: string, main: { current: HTMLElement | null }): void {
  const before = useRef(at)
  useEffect(() => {
    const heading = main.current?.querySelector('h1')?.textContent
    document.title = heading ? `${heading} · Shoal` : 'Shoal'
    if (before.current === at) return
    before.current = at
    window.scrollTo(0, 0)
    document.querySelector('.top [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
    main.current?.focus({ preventScroll: true })
  })
}
