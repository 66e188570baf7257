import { useEffect, useState } from 'preact/hooks'
import { type Route, routeOf } from './routes.js'

export * from './routes.js'

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const update = () => setHash(location.hash)
    window.addEventListener('hashchange', update)
    return () => window.removeEventListener('hashchange', update)
  }, [])
  return routeOf(hash)
}

/** Writes the query of the current view into the address, without a history entry. */
export function replaceQuery(query: Readonly<Record<string, string>>): void {
  const [place = '#/'] = location.hash.split('?')
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  history.replaceState(null, '', search === '' ? place : `${place}?${search}`)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}
