export function Alerts() {
  return <h1>Alerts</h1>
}
