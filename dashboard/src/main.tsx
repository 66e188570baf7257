import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { follow, forget } from './live.js'
import { ConfirmHost } from './parts/confirm.js'
import { Toasts } from './parts/toast.js'
import { type Route, useRoute } from './router.js'
import { Shell } from './shell.js'
import { SignIn } from './sign-in.js'
import { useStore } from './store.js'
import './theme.css'
import { takeTheme } from './theme.js'
import { takeToken, token } from './token.js'
import { Alerts } from './views/alerts.js'
import { Audit } from './views/audit.js'
import { Crawl } from './views/crawl.js'
import { CrawlFrame, NotThere } from './views/crawl-frame.js'
import { Dead } from './views/dead.js'
import { Explain } from './views/explain.js'
import { Hosts } from './views/hosts.js'
import { Links } from './views/links.js'
import { Overview } from './views/overview.js'
import { Proxies } from './views/proxies.js'
import { Records } from './views/records.js'
import { Workers } from './views/workers.js'
import './views/views.css'

const PLAIN_VIEWS = {
  overview: Overview,
  workers: Workers,
  proxies: Proxies,
  records: Records,
  alerts: Alerts,
  audit: Audit,
} as const

const CRAWL_PARTS = { live: Crawl, hosts: Hosts, links: Links, dead: Dead, explain: Explain } as const

function View({ route }: { readonly route: Route }) {
  if (route.view === 'unknown') return <NotThere />
  if (route.view !== 'crawl') {
    const Plain = PLAIN_VIEWS[route.view]
    return <Plain query={route.query} />
  }
  const Part = CRAWL_PARTS[route.part]
  return (
    <CrawlFrame crawl={route.crawl} part={route.part}>
      {(view) => <Part key={route.crawl} view={view} query={route.query} />}
    </CrawlFrame>
  )
}

function App() {
  const route = useRoute()
  const signedIn = useStore(token) !== null
  const crawl = route.view === 'crawl' ? route.crawl : null
  useEffect(() => {
    if (!signedIn) {
      forget()
      return
    }
    return follow(crawl)
  }, [signedIn, crawl])
  if (!signedIn) return <SignIn />
  return (
    <Shell route={route}>
      <View route={route} />
      <ConfirmHost />
      <Toasts />
    </Shell>
  )
}

takeTheme()
takeToken()
// Pasting another address with a token into the same tab does not reload the page.
window.addEventListener('hashchange', () => location.hash.startsWith('#token=') && takeToken())
const place = document.getElementById('page')
if (place !== null) render(<App />, place)
