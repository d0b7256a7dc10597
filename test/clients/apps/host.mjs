// The page of a host: AppBridge, which the project of MCP Apps publishes, shows one view at a time. It is bundled for Chromium.

import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const hostCapabilities = { serverTools: {}, openLinks: {}, logging: {}, updateModelContext: { text: {} } };

window.events = [];
const note = (kind) => (params) => { window.events.push({ kind, params }); };

/** Shows the view at an address, and returns when it has initialized. */
window.show = async (src, hostContext) => {
  window.events.length = 0;
  await window.bridge?.close();
  document.querySelector('iframe')?.remove();
  const frame = Object.assign(document.createElement('iframe'), { title: 'view' });
  frame.sandbox = 'allow-scripts';
  frame.style = `border:0;width:100%;height:100px;color-scheme:${hostContext.theme}`;
  document.body.append(frame);
  const bridge = new AppBridge(null, { name: 'host', version: '1' }, hostCapabilities, { hostContext });
  const initialized = new Promise((done) => { bridge.oninitialized = done; });
  bridge.onsizechange = ({ height }) => { note('size')({ height }); frame.style.height = `${height}px`; };
  bridge.onupdatemodelcontext = async (params) => { note('context')(params); return {}; };
  bridge.oncalltool = async (params) => { note('call')(params); return window.callTool(params); };
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = src;
  await initialized;
  window.bridge = bridge;
};

/** Sends the view what no AppBridge would. */
window.raw = (message) => document.querySelector('iframe').contentWindow.postMessage(message, '*');
