import { useEffect, useState } from 'preact/hooks'
import { type Route, routeOf } from './routes.js'

export * from './routes.js'

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => setHash(location.hash)
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
  return routeOf(hash)
}

/** Writes the query of the present view into the address, without a step in the history. */
export function replaceQuery(query: Readonly<Record<string, string>>): void {
  const [place = '#/'] = location.hash.split('?')
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  history.replaceState(null, '', search === '' ? place : `${place}?${search}`)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}
