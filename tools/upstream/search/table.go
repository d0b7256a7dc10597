package search

// stopWords are the words of requests that say nothing about a tool.
const stopWords = `
a an the this that these those some any its it is are was were be been being am do does did doing have has had having
i me my mine myself we us our ours you your yours he him his she her they them their who's whose
of to in on at by for from with into onto within than then so as and or but if not no nor there here
how can could would should will shall may might must want wants wanted need needs let lets please kindly help thanks thank
what which who whom when where why tell just also too very really quickly now currently today
use using via through inside about around between per each
s t m re ve ll d don didn doesn isn
something anything thing things someone somebody anyone lately recently already still again yet other another same own
possible able try ok okay hey hi hello dear
`

// foreignStopWords are those of other languages. Some are words of tools, such as
// die and os: a word in the name of a tool counts.
const foreignStopWords = `
der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner unser unsere und oder ist sind war im am zu zum zur mit von vom fur auf aus bei nach ich du er sie es wir ihr mir mich uns bitte wie kann konnen soll mochte will wurde was wer wo wann welche welcher welches heisst habe hat haben gibt
le la les un une des du de d l et ou est sont mon ma mes ton ta tes son sa ses notre nos votre vos au aux en dans sur avec pour par je tu il elle nous vous ils comment peux peut puis veux voudrais quoi quel quelle quels quelles qui que ce cette ces moi svp plait
el los las uno unos unas del al y o es son mi mis tu tus su sus nuestro nuestra con por para sobre yo que como puedo puede quiero cual cuales quien donde me te se lo este esta estos estas favor
il lo gli i una uno dei delle degli della dello nel nella sul sulla di da e mio mia miei mie tuo suo nostro con per come posso voglio quale quali chi mi ti si questo questa
os as um uma uns umas do da dos das no na nos nas meu minha meus minhas seu sua nosso com por para eu como posso quero qual quais quem esse essa isso este esta
het een de van voor met op in naar mijn ons onze jouw hoe kan ik wil graag wat welke wie deze dit dat
и в на с по для из мне мой моя мои как что это я у к о от
的 了 我 我的 请 一个 在 把 给 和 是 吗 怎么 如何 を に の は が で と ください して する
`

// actions are what tools do, and the words for it. A line is the words by which
// tools are named, a colon, and further words by which people ask. The words of
// a phrase are joined by _.
const actions = `
create add new insert generate compose make schedule register put_item : open build file raise write draft start set_up setup establish log record append book plan provision define publish propose declare introduce produce up leave begin enter prepare save store upload mkdir touch remember memorize compose crear crea creare creer creez cree criar crie erstellen erstelle anlegen anlegt anlege neu neue neuen neuer neues hinzufugen ajouter ajoute nouveau nouvelle nueva nuevo nova novo nuovo nuova anadir agregar aggiungere aggiungi adicionar toevoegen aanmaken maken maak nieuw nieuwe schreiben schreibe programar создать создай добавить добавь новый новая новое 创建 新建 添加 新增 新しい 作成 追加 만들기 추가 eintragen trage eintrag redigere inscrire ajoute redacter anlegt registrieren registrar registrare programar crees jot_down note_down check_in cp
delete remove drop cancel trash erase clear purge destroy uninstall revoke unset : discard wipe get_rid throw_away throw_out dispose terminate kill dismiss flush cleanup clean_up empty detach strip take_away take_off take_down rm unlink quit forget vanish eliminate prune undo loschen losche loesche entfernen entferne stornieren supprimer supprime effacer efface enlever annuler eliminar elimina borrar borra quitar cancellare cancella eliminare rimuovere remover excluir apagar verwijderen verwijder wissen удалить удали убрать 删除 移除 取消 清除 削除 삭제 absagen sag_ab annule supprimez kundigen weg rmdir unstage revert sold_out
update edit change modify rename set patch adjust alter replace write transition configure manage : revise amend fix correct fill overwrite refresh assign reassign mark toggle switch turn put move upgrade downgrade increase decrease raise lower tweak reopen resolve close give let customize andern andere aendern bearbeiten bearbeite aktualisieren aktualisiere umbenennen ersetzen setzen setze verschieben modifier modifie changer renommer mettre_a_jour remplacer cambiar cambia editar actualizar modificar renombrar reemplazar modificare aggiornare cambiare rinominare alterar atualizar renomear mudar wijzigen bijwerken bewerken hernoemen изменить измени обновить переименовать редактировать 更新 修改 编辑 重命名 変更 編集 chmod
get read fetch view retrieve describe show details info inspect lookup look_up : open see check display load find give return examine print cat what_is tell know content information detail report current who show_me dump grab obtain access download lesen lies anzeigen zeige zeig zeigen abrufen holen hole ansehen offnen offne lire lis ouvrir ouvre afficher affiche montrer montre obtenir voir consulter leer lee abrir abre mostrar muestra obtener ver leggere leggi mostra mostrare aprire vedere ler abra obter lezen toon tonen bekijken openen прочитать прочитай показать покажи открыть посмотреть 读取 查看 显示 获取 打开 読む 表示 見る 取得 보기 읽기 auslesen lese nachsehen regarder regarde mira enseñar ensena opvragen opzoeken узнать посмотри покажите 看 查 確認 教えて less head tail curl wget show_details look_into
list enumerate browse show get_all all : every display view see which available existing overview what_are everything everyone how_many ls dir index catalog inventory exist auflisten liste zeige zeig alle anzeigen ubersicht lister liste tous toutes listar lista todos todas elencare elenca elenco tutti tutte lijst alle overzicht список все покажи перечислить 列出 列表 所有 全部 一覧 リスト 목록 vollstandig quali_sono welche_gibt_es quels_sont cuales_son какие_есть ps which_ones
search find query look_for lookup look_up searcher scan discover filter explore : seek locate where hunt search_for contain containing match matching mention retrieve said grep list wo_ist suchen suche finden finde chercher cherche rechercher recherche trouver trouve ou_est buscar busca encontrar encuentra cercare cerca trovare trova procurar procure pesquisar pesquisa zoeken zoek vinden искать найти найди поиск 搜索 查找 查询 搜 検索 探す 검색 찾기 durchsuchen durchsuche nachschlagen recherche consultare
send post share notify publish broadcast reply forward : message tell write email mail dm text deliver submit announce ping let_know inform answer respond say drop distribute contact schicken schicke senden sende versenden teilen teile antworten envoyer envoie enviar envia mandar manda partager repondre compartir responder inviare invia inviare spedire condividere rispondere compartilhar sturen stuur verzenden delen отправить отправь послать поделиться ответить 发送 发布 分享 回复 送信 送る 共有 返信 보내기 freigeben freigabe partage comparte comparti condividi verstuur schreib
run execute start launch trigger invoke call exec evaluate apply perform : kick_off fire play do_it begin boot rerun re_run retry relaunch deploy bring_up spin_up use ausfuhren fuhre starten starte executer execute lancer lance demarrer ejecutar ejecuta iniciar inicia correr eseguire esegui avviare avvia executar rodar uitvoeren starten запустить запусти выполнить 运行 执行 启动 実行 起動 실행 fire_up
stop cancel halt abort pause end terminate close disable force_terminate turn_off : shut_down shutdown kill interrupt quit switch_off turn_off suspend finish silence mute stoppen stoppe anhalten beenden abbrechen ausschalten arreter arrete eteindre parar para detener deten apagar fermare ferma interrompere spegnere parar desligar stoppen uitzetten остановить останови выключить 停止 关闭 暂停 中止 終了 중지 pkill shut_off
enable activate turn_on start resume : switch_on on unpause continue wake power_on einschalten anschalten aktivieren allumer activer encender activar accendere attivare ligar ativar aanzetten включить включи 打开 开启 オン dim
move transfer relocate rename reorder : put drag shift migrate carry hop take verschieben verschiebe bewegen deplacer mover mueve spostare sposta verplaatsen переместить 移动 移動 mv
copy duplicate clone fork replicate : copy_of my_own kopieren kopiere copier copie copiar copia copiare kopieren копировать скопировать 复制 コピー 複製 cp
merge combine join unite : land integrate concatenate concat consolidate together zusammenfuhren zusammenfugen fusionner combinar unir fusionar unire samenvoegen объединить слить 合并 結合 マージ
compare diff difference : changes contrast delta versus vs differ changed touch vergleichen vergleiche unterschied comparer comparar confrontare vergelijken сравнить 比较 比較
upload import push attach put : load_into send save add store transfer hochladen televerser importer subir cargar importar caricare uploaden загрузить 上传 アップロード
download export save pull fetch : get_file store backup retrieve offline herunterladen exportieren telecharger exporter descargar exportar guardar scaricare esportare baixar downloaden скачать экспорт 下载 导出 ダウンロード curl wget
convert transform translate render : turn_into into change_to as_pdf parse format export turn umwandeln konvertieren convertir convertire converter omzetten конвертировать преобразовать 转换 変換
link connect associate relate attach relation : tie join depend blocking block bind verknupfen verbinden lier relier enlazar conectar collegare vincular koppelen связать 关联 连接
approve accept confirm allow respond : ok lgtm sign_off agree authorize permit grant acknowledge confirm genehmigen annehmen zusagen approuver accepter aprobar aceptar approvare accettare aprovar aceitar goedkeuren одобрить принять 批准 同意 接受 承認
reject decline deny refuse block ban : turn_down disapprove say_no kick_out blacklist ablehnen absagen sperren refuser rejeter rechazar rifiutare rejeitar weigeren отклонить 拒绝 却下
close resolve complete finalize mark_done done finish archive : solve solved fixed finished completed settle end wrap_up tick check_off abschliessen erledigen schliessen fermer terminer cerrar completar chiudere completare fechar sluiten afronden закрыть завершить 关闭 完成 解决 完了 閉じる
count aggregate number total statistics stats size : how_many how_much amount sum quantity tally how_often how_big zahlen anzahl wieviele compter combien contar cuantos contare quanti quantos tellen hoeveel посчитать сколько 多少 数量 统计 数える wc how_busy
analyze analysis explain diagnose evaluate review health : examine inspect investigate why understand troubleshoot debug root_cause reason cause study assess audit check analyse analysieren analyser analizar analizzare analisar analyseren анализ анализировать 分析 诊断
summarize summary overview : brief digest gist recap shorten tldr short zusammenfassen zusammenfassung resumer resume resumir resumen riassumere riassunto samenvatten 总结 摘要 要約
wait : pause sleep until delay warten attendre esperar aspettare wachten ждать 等待
click press tap : push hit button klicken cliquer clic cliccare clicar klikken нажать 点击 クリック
type fill input enter : write form field put_in key_in eingeben ausfullen saisir remplir rellenar escribir compilare preencher invullen ввести 输入 填写 入力
play resume playback : listen hear put_on start abspielen spiele jouer ecouter reproducir escuchar riprodurre tocar ouvir afspelen играть включить 播放 再生
skip next : forward
invite add_member add_user : bring onboard include ask einladen inviter invitar invitare convidar uitnodigen пригласить 邀请 招待
assign reassign assignee : give_to delegate hand_over responsible zuweisen attribuer asignar assegnare atribuir toewijzen назначить 分配
subscribe watch follow monitor track observe : listen keep_an_eye notified star abonnieren suivre seguir abbonare volgen подписаться 订阅
scale resize replicas : replica grow shrink instances bigger smaller
rename new_name : call_it another_name name umbenennen benenne renommer renomme renombrar renombra rinominare rinomina renomear hernoemen переименовать переименуй 重命名 改名 名前を変更
write overwrite : save put schreiben schreibe schreib ecrire ecris escribir escribe scrivere scrivi escrever escreva schrijven schrijf написать напиши записать 写 写入 書く
install deploy : set_up setup helm
schedule reschedule : plan later postpone arrange book terminieren planifier programar pianificare agendar inplannen запланировать 安排 予約
validate verify check test lint : correct valid prufen verifier valider verificar validar verificare controleren проверить 验证 检查 確認
authenticate login sign_in whoami me self : log_in logged_in who_am_i myself identity credentials anmelden connecter iniciar_sesion accedere entrar inloggen войти 登录
sort order arrange : rank sortieren trier ordenar ordinare sorteren сортировать 排序
extract parse ocr recognize : pull_out scan text_of say says read get_text extrahieren extraire extraer estrarre extrair 提取 抽出
fork branch_off : own_copy copy
refund reimburse : money_back give_back pay_back return ruckerstatten erstatten rembourser rembourse remboursement reembolsar reembolso rimborsare rimborso terugbetalen вернуть возврат 退款 返金
navigate visit goto go_to browse open_url : open go website surf url besuchen naviguer navegar visitar navigare bezoeken перейти 访问 移動
`

// things are what tools work on, in lines as those of actions.
const things = `
issue ticket issues bug task work_item : problem defect case story card todo to_do request fehler aufgabe aufgaben probleme tache taches tarea tareas incidencia problema attivita tarefa tarefas taak taken задача задачи задачу задач проблема 问题 工单 任务 課題 タスク 이슈 bug_report feature_request
file document doc blob text_file : attachment pdf txt readme content paper report datei dateien dokument dokumente fichier fichiers documento documentos archivo archivos ficheiro ficheiros arquivo arquivos documenti bestand bestanden файл файлы файла документ документы 文件 文档 ファイル ドキュメント 書類 파일 문서 cat rm mv cp touch less
folder directory dir tree : path mkdir location ls hierarchy ordner verzeichnis dossier repertoire carpeta directorio cartella diretorio pasta map folder папка папку каталог 文件夹 目录 フォルダ ディレクトリ 폴더 pwd cd rmdir cwd working_directory du
message mail email chat dm sms text_message : post note text letter inbox say said write wrote written conversation line nachricht nachrichten brief post message courriel courrier messages mensaje mensajes correo correos carta messaggio messaggi posta mensagem mensagens bericht berichten сообщение сообщения письмо письма почта 消息 邮件 信息 短信 メッセージ メール 메시지 메일 ping mailbox
comment note reply annotation feedback : remark response answer answered opinion discussion kommentar kommentare commentaire commentaires comentario comentarios commento commenti opmerking комментарий комментарии 评论 注释 コメント 댓글
repository repo project : codebase source_code source code git projekt projekte depot projet projets repositorio proyecto proyectos progetto progetti repositorio projeto projetos проект проекты репозиторий 仓库 项目 リポジトリ プロジェクト 저장소 프로젝트
pull_request merge_request pr mr : review patch contribution changes propose diff change_request zusammenfuhrungsanfrage 合并请求 プルリクエスト land code_change
event meeting appointment calendar freebusy : schedule invite invitation call session agenda busy free available availability date standup termin termine kalender besprechung sitzung evenement reunion rendez_vous agenda calendrier evento eventos reunion cita calendario riunione appuntamento eventi reuniao compromisso calendario afspraak vergadering событие встреча встречу календарь 会议 日历 日程 活动 予定 会議 カレンダー 일정 회의 slot free_slot book postpone reschedule lunch
customer client contact company : buyer lead account consumer patron person kunde kunden kontakt client clients cliente clientes clienti contacto klant klanten контакт клиент клиенты 客户 联系人 顧客 連絡先 고객
user member person people account profile : who everybody everyone colleague teammate employee staff author owner nutzer benutzer mitglied leute utilisateur utilisateurs membre usuario usuarios miembro utente utenti usuario membro gebruiker gebruikers lid пользователь пользователи участник 用户 成员 ユーザー メンバー 사용자
group team organization org workspace : company department everyone people gruppe team mannschaft equipe groupe grupo equipo gruppo squadra groep команда группа 团队 组 组织 チーム グループ
invoice bill payment charge payment_intent : pay paid unpaid receipt rechnung rechnungen zahlung zahlungen facture factures paiement paiements factura facturas pago pagos fattura fatture pagamento pagamenti fatura pagamento factuur betaling счет счёт оплата платеж 发票 付款 账单 支付 請求書 支払い owed overdue get_paid
balance amount fund : money cash available_funds account saldo guthaben geld solde argent dinero saldo soldi dinheiro geld деньги баланс 余额 钱 残高
price cost fee rate usage : spend spending spent expense money expensive bill euro euros dollar dollars how_much preis preise kosten prix cout precio costo prezzo preco custo prijs цена стоимость 价格 费用 成本 値段 価格
dispute chargeback : complaint conflict
subscription plan recurring : membership monthly abonnement abo suscripcion abbonamento assinatura подписка 订阅 サブスクリプション
discount coupon promo : voucher percent_off off rebate sale code rabatt gutschein remise reduction descuento sconto desconto korting скидка 折扣 优惠券 クーポン
product item good variant : article merchandise sell shirt stuff produkt produkte artikel produit produits producto productos prodotto prodotti produto produtos product producten товар товары 产品 商品 製品
order purchase : sale bought buy shipped delivery bestellung bestellungen commande commandes pedido pedidos ordine ordini bestelling заказ заказы 订单 注文 shipping tracking parcel
inventory stock quantity : warehouse supply left lager bestand stock inventario existencias magazzino estoque voorraad склад 库存 在庫
table spreadsheet sheet grid worksheet workbook : excel tab google_sheet tabelle tabellen tableau feuille tabla hoja tabella foglio tabela planilha tabel таблица таблицы 表格 工作表 电子表格 表 シート スプレッドシート csv formula cells
row record entry line item : line insert values zeile zeilen eintrag datensatz ligne lignes enregistrement fila filas registro riga righe linha registro rij строка строки запись 行 记录 レコード
column field property attribute : spalte feld colonne champ columna campo colonna coluna kolom veld столбец поле 列 字段 フィールド structure ddl data_model
cell range : zelle zellen cellule celda cella celula cel ячейка 单元格 セル
database db schema collection base keyspace : data mongo sql datenbank base_de_donnees datos base_de_datos banca_dati banco_de_dados gegevens база_данных база 数据库 データベース
query sql select statement : selection abfrage requete consulta interrogazione 查询 クエリ
execution_plan explain slow_queries top_queries : slow performance speed_up fast optimize tuning explain langsam lent lento traag
page note wiki article confluence_page : doc document text wikipedia runbook policy write_up seite seiten notiz notizen page pages pagina paginas nota notas pagina appunto artikel заметка заметки страница страницу 页面 笔记 ページ ノート メモ
site website web_page webpage url link web browser : page internet online homepage address http https seite webseite site lien pagina_web enlace sito collegamento link сайт ссылка страница 网站 网页 链接 サイト ウェブ リンク curl wget
commit revision log_history changeset history : change changed who_changed what_changed last_changes version blame verlauf historique historial storico historico geschiedenis коммит история 提交 历史 コミット 履歴 check_in checkin version_control save_changes snapshot
branch : trunk main master develop line head zweig branche rama ramo tak ветка ветку 分支 ブランチ
release version tag deployment : newest latest ship shipped rollout deploy published ausgabe veroffentlichung sortie publicacion rilascio lancamento uitgave версия релиз 发布 版本 リリース バージョン
pipeline workflow build job action ci workflow_run : ci_cd run compile test deploy continuous_integration
review code_review approval : feedback look_over look_at reviewer approve lgtm check
container pod docker_container : workload box docker running service
deployment resource replica replicas workload : kubectl yaml manifest apply
cluster namespace node kubernetes : k8s kube
instance server machine vm host node : computer box virtual_machine virtual_machines hardware ec2 rechner maschine serveur servidor macchina maquina машина сервер 服务器 虚拟机 サーバー 主机
function lambda serverless worker : code handler
bucket object storage s3 blob : cloud_storage file space store
key token secret credential api_key dsn : password leaked credentials ingest passwort schlussel mot_de_passe contrasena clave chiave senha wachtwoord пароль ключ 密码 密钥 パスワード キー
security vulnerability scanning advisory alert : leak leaked hole unsafe safe cve exploit sicherheit securite seguridad sicurezza 安全 漏洞
log trace stdout output console : print history lines protokoll protokolle journal journaux registro registros log логи лог журнал 日志 ログ
metric monitoring statistics usage consumption top : eat use how_much memory cpu ram performance load metrik metrique metrica метрика 指标 メトリクス
dashboard panel : board cockpit overview
chart graph plot diagram visualization : draw visualize picture curve pie distribution correlation diagramm grafik graphique grafico график диаграмма 图表 グラフ
image picture photo screenshot icon drawing : png jpg jpeg snap capture look_like bild bilder foto fotos image images imagen imagenes foto immagine immagini imagem imagens afbeelding foto изображение картинка фото скриншот 图片 照片 截图 图像 画像 写真 スクリーンショット bildschirmfoto capture_d_ecran captura_de_pantalla schermata captura_de_tela captura schermafbeelding スクショ logo pic vector
audio sound music track song album playlist artist : listen recording tune mp3 voice speech bpm lied lieder musik chanson musique cancion musica canzone brano musica cancao muziek nummer песня музыка музыку 音乐 歌曲 曲 音楽
video youtube clip transcript : film movie subtitle subtitles watch captions
volume loudness : loud louder quiet quieter sound lautstarke leiser lauter son volumen volume громкость 音量
channel room chat group conversation : server kanal raum salon canal canale kanaal канал чат 频道 群 チャンネル
thread conversation reply replies : discussion answered
reaction emoji : thumbs_up like smiley heart
topic subject title name : headline header name thema titel sujet titre tema titulo titolo onderwerp 主题 标题
alert alarm notification warning : incident firing pager page_me outage broken alarme alerta avviso melding оповещение тревога уведомления 警报 告警 通知 アラート
oncall on_call schedule_override : pager duty shift
incident outage : emergency down declare crisis
error exception failure crash stacktrace event problem : bug broken fail failed red issue unresolved fehler absturz erreur error errores errore erro fout ошибка ошибки 错误 异常 エラー
permission permissions access role share policy : right rights allowed who_can see share_with grant berechtigung zugriff droit acces permiso permesso permissao toegang доступ права 权限 访问 権限 give_access see_my let_see public private chmod
label tag category : mark folder archive etikett etiquette etiqueta etichetta etiqueta метка 标签 ラベル
status state stage transition phase : progress in_progress done move_to resolved status etat estado stato toestand статус состояние 状态 ステータス
priority severity : urgent important
date time timestamp now clock : day hour timezone when 时间 日期 時間 日付
timer : alarm countdown minutes
cycle sprint iteration : current_sprint
milestone deadline target_date : due
initiative goal objective : okr effort strategy
worklog time_spent log_work : hours log_hours
weather forecast : rain rainy sunny snow temperature umbrella wetter regen temps_fera meteo clima tiempo tempo previsione weer погода погоду 天气 天気 날씨
location place address geocode coordinates map : where near nearby around_here restaurant position ort adresse lieu adresse lugar direccion luogo indirizzo endereco plaats адрес место 地址 地点 地图 場所 住所 地図 nearest near_me closest here
route directions navigation : way drive how_do_i_get_to get_from travel commute path airport station weg strecke chemin trajet ruta camino percorso rota маршрут 路线 ルート llegar arriver arrivare chegar anfahrt itineraire itinerario far how_far way_to
train ticket flight hotel booking : travel seat journey stay trip zug vol tren treno 火车 航班 酒店
currency exchange exchange_rate : dollar dollars euro euros yen convert wahrung devise moneda valuta moeda валюта 货币 汇率 通貨
stock share ticker equity : market quote price company nasdaq aktie action accion azione acao aandeel акция 股票 株
earnings dividend income_statement financial : payout payouts quarter profit report revenue shareholder
crypto bitcoin coin : btc ethereum token
news headline article trending : happening latest press story hot nachrichten actualites noticias notizie nieuws новости 新闻 ニュース
paper study research publication article literature : arxiv pubmed science clinical trial
trial study clinical : hospital patient
variant mutation gene : genetic dna
domain dns record zone hostname whois : ip nameserver point_my owns domain subdomain
cache cdn purge : flush cached
network ip interface traffic request requests : xhr calls wifi internet connection ajax http netzwerk reseau red rete rede сеть 网络 ネットワーク ping curl port
process running_process program : task app application pid running prozess processus proceso processo процесс 进程 プロセス ps pkill htop top kill
memory ram swap : left speicher memoire memoria geheugen память 内存 メモリ
disk volume storage drive filesystem : hard_drive hard_disk ssd full free_space space persistent festplatte disque disco schijf диск 磁盘 硬盘 ディスク df du
cpu processor load : speed hot fan prozessor
battery power charge : plugged akku batterie bateria batteria батарея 电池
temperature thermostat climate : overheat overheating degrees heating warm cold warmer cooler hot heat heizung grad chauffage calefaccion riscaldamento temperatura verwarming температура 温度
light brightness lamp : bulb dim bright licht lampe lumiere luz luce lamp свет 灯 照明
device entity area : living_room kitchen bedroom house home blinds door garage lock switch gerat appareil dispositivo apparaat устройство 设备
cover blind curtain position : shutter blinds rollladen
vacuum : floor hoover clean dust robot staubsauger aspirateur
shell command terminal exec bash cli : console commandline script program kubectl konsole befehl commande comando opdracht команда 命令 コマンド
code snippet source function : program programming source_code script js javascript python code quellcode код 代码 コード usages defined definition
text paragraph content string : words writing sentence lines letters texte texto testo tekst текст 文本 テキスト
slide presentation powerpoint pptx deck : ppt slides folie folien prasentation diapositive diapositiva presentacion presentazione apresentacao презентация слайд 幻灯片 演示 スライド
word_document docx word : doc letter
heading section chapter : title headline
footnote endnote : fussnote
excel xlsx workbook worksheet spreadsheet : xls csv
pdf : document form page scan
form field fields : login website_form fill formular formulaire formulario modulo
dialog popup alert prompt : confirm box
tab window : browser
dropdown option select_option : choose menu pick
cookie session storage : login
design frame component node ui layout mockup : react css figma html look
font color variable style : token tokens colour theme design_token
search_engine web_search search : google internet web look_up online look_online latest_info
documentation docs guide reference library : manual how_to api help learn dokumentation documentacion documentazione 文档 how_does_it_work tutorial explain_how
package dependency library module : npm pip maven version versions depend
license licence : legal
template boilerplate : example
backup snapshot restore : dump archive
index indices indexes : speed_up
entity node fact observation knowledge relation : remember memory know learned merken souvenir recordar ricordare onthouden запомнить 记住
task todo_list todo checklist : to_do remind_me shopping_list remind next_task work_on
engagement note call activity : discussed phone conversation logged
deal opportunity pipeline : sale crm
transition status : move_to in_progress
random shuffle : dice die roll chance
board game chess move : play
recipe dish meal : cook dinner eat food lunch
translation translate language : ubersetzen traduire traducir tradurre vertalen перевести 翻译 翻訳
summary overview : brief short
setting settings configuration config preference option : setup einstellung parametre ajuste impostazione configuracao instelling настройка 设置 設定
relationship association link : between blocking blocked block depends
thread topic post forum : discussion
webhook hook callback : event
gist snippet : share
star : like bookmark favorite favourite
fork : own_copy
notification unread : inbox news mention
queue : later next up_next
board list card kanban : column lane trello
subtask sub_task sub_issue checklist : child step breakdown
due_date deadline : due until by_when fallig echeance vencimiento scadenza prazo
reminder : alarm remind remind_me erinnern erinnerung rappel recordatorio promemoria lembrete herinnering напоминание 提醒 リマインダー
backlog : open_work todo
estimate story_points : effort size
contact address_book : phone number friend telefonnummer kontakte contatto contato
phone call sms : ring dial number telephone telefon anruf appel llamada chiamata ligacao звонок 电话 電話
campaign newsletter audience : marketing mailing subscribers
lead deal opportunity : prospect sale sales pipeline
ticket conversation helpdesk : support complaint help_desk customer_request
macro template canned_response : boilerplate
survey form response questionnaire : answers poll feedback
vector embedding similarity semantic : similar nearest neighbors knn rag
graph cypher relationship : neo4j nodes
topic queue stream consumer producer : kafka message_queue subscribe publish
migration schema_change : migrate alter
transaction transfer wallet address : blockchain onchain eth gas send_money crypto überweisung
edge_function function lambda serverless : deploy code
deployment preview build : rollout hosting
environment_variable env secret variable : setting config
feature_flag flag toggle experiment rollout : ab_test switch
trace span latency profile performance : slow slowest bottleneck duration response_time
crawl scrape spider crawler : harvest whole_site all_pages
extract scrape content text : main_content article reader
screenshot snapshot capture : picture image_of
emulate viewport resize device : mobile phone_view screen_size
scroll swipe drag : down up
keyboard key press_key hotkey shortcut : keystroke
element selector button node : field css xpath
object mesh model scene material : 3d blender render
layer shape rectangle : draw box circle
app application package apk : install mobile android ios program
simulator emulator device : phone android ios iphone
clipboard paste : copied copy_paste
window desktop screen : monitor
distance distance_matrix duration : far long how_far how_long travel_time
elevation altitude : height high
nearby places restaurant hotel : near around close restaurants cafe shop
timezone time_zone convert_time : utc local_time
calculator calculate math expression : compute arithmetic add multiply plus minus rechnen calculer calcular calcolare рассчитать 计算 計算
random number uuid : generate dice
password secret vault item credential : login 1password passwort
certificate ssl tls : https expires
user_info profile me account whoami : my_account who_am_i
comment discussion thread : debate talk
attachment file : attached anhang piece_jointe adjunto allegato anexo bijlage вложение 附件 添付
draft : unfinished prepare entwurf brouillon borrador bozza rascunho concept черновик 草稿 下書き
inbox unread mailbox : new_mail posteingang
spam junk trash archive : papierkorb corbeille papelera cestino lixeira
filter rule criteria condition : automatic automatically
webhook hook trigger zap automation : automatically
workflow automation flow scenario : automate process
run execution job build : ran
artifact output result : produced
test suite case coverage : unit
vulnerability cve advisory dependabot : hole security outdated unsafe
license compliance : legal
changelog release_notes : what_is_new news changed
contributor maintainer committer : who author
star bookmark favorite like : popular
trending popular top : hot
invoice_item line_item : position
payment_link checkout_link : pay url
payout transfer : bank
tax vat : mwst
customer_portal portal : self_service
meeting_notes transcript recording : minutes said call
song lyrics : words text
podcast episode show : listen
movie film series : watch cinema
game match player : play score
team standings league : table sports
flight airport airline : fly plane vol vuelo volo
hotel accommodation listing stay : sleep room place_to_stay apartment airbnb booking
recipe ingredient meal : cook eat food
health heart sleep workout activity : fitness run steps
article_summary summary : tldr
citation reference bibliography : cite quote
diagram flowchart mermaid : draw visualize
bar_chart chart : bars
image_generation generate_image : draw paint illustrate picture_of
speech text_to_speech tts voice : speak read_aloud say
transcribe transcription speech_to_text : dictate write_down audio recording
resize crop thumbnail : smaller pixel pixels wide width
watermark background : remove_background
zip archive compress : pack unpack unzip tar
hash checksum md5 : digest
regex pattern glob : matching
line lines line_range : rows
diff patch changes : difference what_changed unstaged
stash shelve : put_aside
tag label git_tag : mark
remote origin push pull : upstream
conflict merge_conflict : clash
service systemd daemon : background
port socket : listening open_port
firewall security_group rule : inbound allow_ip
ip_address ip whitelist access_list : allow_ip
load_balancer ingress gateway : traffic
region zone location : datacenter
quota limit rate_limit : maximum
event_log events audit_log activity : happened history who_did_what
health health_check status uptime : alive healthy ok up down
version info about : which_version
help usage documentation : manual how_to
knowledge_base article help_center : faq
goal habit : track
sensor state reading : measure
scene script automation routine : mood
camera stream doorbell : look
lock unlock door : schloss
shopping_list todo_list list item : groceries buy einkaufsliste
`

// same are words that mean the same: short and irregular forms, and products
// people call by another name.
const same = `
pr prs pull_request
mr mrs merge_request
repo repository repos
db database dbs
dir directory dirs
doc document docs
config configuration configure
k8s kubernetes kube kubectl
pg postgres postgresql psql
mongo mongodb
elastic elasticsearch opensearch
gh github
gl gitlab
js javascript
ts typescript
md markdown
env environment
auth authentication authenticate authorize authorization
org organization organisation
msg message
img image
pic picture photo photograph pics
screenshot screen_shot screen_capture
info information
admin administrator
app application
id ids identifier
ns namespace
svg vector_graphic
url uri link
dm direct_message direct
email mail e_mail mailing
ppt powerpoint pptx presentation
xls xlsx excel
docx word
ip ips ip_address
cpu processor
ram memory
vm vms virtual_machine
todo to_do
login log_in sign_in signin logon
logout log_out sign_out
freebusy free_busy
send sent
write written wrote
find found
make made
run ran
buy bought
pay paid
delete deleted deletion
cancel canceled cancelled cancelling canceling cancellation
analyze analyse analysis analyzing
summarize summarise summary
organize organise
color colour
notify notification
subscribe subscription
index indices indexes
schema schemas schemata
identity identify
available availability
permission permit
repo_settings repository_settings
spreadsheet spread_sheet
calendar cal
attach attachment
assign assignment assignee
deploy deployment
translate translation
transcribe transcription transcript
geocode geocoding
convert conversion
compare comparison
describe description
retrieve retrieval
approve approval
invite invitation
remind reminder
react reaction
category categories
history historical
crypto cryptocurrency
stats statistics statistic
max maximum
min minimum
avg average mean
num number
temp temperature
tz timezone time_zone
lang language
cmd command
param parameter
var variable
dep dependency deps
pkg package
ver version
perm permission perms
mp3 audio
yt youtube
hn hackernews hacker_news
tv television
ad advertisement ads
sheet sheets
wiki wikipedia
stock stocks
movie film
vacation holiday
hackernews hacker_news
tidb ti_db
big_query bigquery
cloud_watch cloudwatch
sql query
`

// products are well-known products and services, and what they are about: words
// by which people ask for them without their name.
const products = `
github : git code repository issue pull_request ci workflow open_source developer
gitlab : git code repository merge_request pipeline ci
bitbucket : git code repository pull_request
slack : chat message channel team workspace thread
discord : chat message channel guild server community
teams : chat message channel meeting
telegram : chat message group
whatsapp : chat message group phone
notion : page note wiki database doc
confluence : wiki page doc space
jira : ticket issue task sprint board story bug
linear : ticket issue task sprint cycle project
trello : card board list task
asana : task project
todoist : task todo
monday : board task item
clickup : task list
stripe : payment billing card charge money subscription customer
paypal : payment invoice money
square : payment order catalog
shopify : shop store order product customer ecommerce
hubspot : crm contact deal company lead marketing sales
salesforce : crm lead opportunity account sales
zendesk : support ticket helpdesk customer
intercom : support conversation customer
postgres : sql database db table query
mysql : sql database db table query
sqlite : sql database db table query
mongodb : nosql database db document collection
redis : cache key value db session
elasticsearch : index search logs cluster
snowflake : sql warehouse database
bigquery : sql warehouse dataset
supabase : database project postgres edge_function
neon : postgres database branch
clickhouse : sql database
filesystem : file folder directory disk local path
git : commit branch diff stage history working_copy repository local
playwright : browser web page website click form
puppeteer : browser web page website click
browser : web page website
kubernetes : cluster pod container deployment workload
docker : container image volume network compose
terraform : infrastructure provider module
grafana : dashboard metrics logs alerts monitoring oncall
prometheus : metrics monitoring
datadog : metrics monitoring logs traces
sentry : error crash exception stacktrace production monitoring
pagerduty : oncall incident alert pager
drive : file folder doc document share cloud
sheets : spreadsheet table cell row sheet
gmail : mail email inbox message attachment label
outlook : mail email inbox calendar
calendar : event meeting appointment schedule busy
aws : cloud server storage bucket cost
azure : cloud server storage
gcp : cloud server storage
s3 : bucket storage object file cloud_storage blob
ec2 : server instance machine vm virtual_machine
cloudflare : dns cdn domain zone worker cache
vercel : deploy deployment website project
netlify : deploy website site
figma : design ui mockup frame
airtable : base table record row
spotify : music song track playlist playback listen album
sonos : music speaker
youtube : video transcript channel
home : light lamp heating thermostat house room device smart_home
hass : light lamp heating thermostat house room device smart_home
obsidian : note vault markdown
evernote : note
brave : web search internet
tavily : web search internet
google : web search
wikipedia : article encyclopedia
arxiv : paper research science
maps : place address route location
weather : forecast rain temperature
yahoo : stock finance price market
twitter : tweet post social
linkedin : profile job network post
reddit : post subreddit
twilio : sms phone call
sendgrid : email mail
mailchimp : email campaign newsletter
zoom : meeting call video
airbnb : stay apartment booking travel accommodation
leetcode : problem exercise challenge programming
npm : package javascript node library
pypi : package python library
maven : package java library artifact
pinecone : vector embedding index similarity
qdrant : vector embedding collection similarity
chroma : vector embedding collection document similarity
weaviate : vector embedding similarity
neo4j : graph cypher node relationship
kafka : topic message consumer producer stream
rabbitmq : queue message exchange
firecrawl : scrape crawl web website page
exa : web search internet
perplexity : web search question answer
context7 : documentation library docs
devtools : browser page performance network console
chrome : browser web page tab
selenium : browser web page
jenkins : ci build job pipeline
circleci : ci build job pipeline workflow
heroku : app dyno deploy
digitalocean : droplet server cloud
pulumi : infrastructure stack
newrelic : monitoring metrics apm
opensearch : search index logs
dbt : model transformation sql
oracle : sql database
mssql : sql database
duckdb : sql database csv parquet
mapbox : map location route
osm : map location place address
openstreetmap : map location place address
ffmpeg : video audio convert
pandoc : document convert markdown
excel : spreadsheet sheet workbook cell xlsx
word : document docx paragraph
powerpoint : slide presentation pptx
ppt : slide presentation pptx
pdf : document page
zotero : paper reference citation
pubmed : paper article medical research
hackernews : news story discussion tech
wordpress : blog post site page
ghost : blog post
webflow : website cms
contentful : cms content entry
sanity : cms content document
mailgun : email mail
resend : email mail
klaviyo : email campaign marketing
plaid : bank account transaction
xero : accounting invoice
quickbooks : accounting invoice
coinbase : crypto wallet
coingecko : crypto price coin market
binance : crypto price trade
alpaca : stock trade order portfolio
strava : fitness activity run
tmdb : movie film tv series
steam : game player
plex : movie media library
blender : 3d object scene render
unity : game object scene
ableton : music track audio
xcode : ios build simulator app
android : device app phone
appium : mobile device app
n8n : workflow automation
zapier : workflow automation
raycast : launcher
bear : note
apple : mac macos
things : todo task
ticktick : todo task
miro : board whiteboard diagram sticky
excalidraw : diagram drawing whiteboard
canva : design image
mermaid : diagram flowchart chart
chart : graph plot diagram visualization
bitwarden : password secret vault
vault : secret password
okta : user identity group sso
auth0 : user identity application
launchdarkly : feature_flag flag rollout
posthog : analytics event feature_flag insight
amplitude : analytics event chart
mixpanel : analytics event
segment : analytics event
time : clock timezone date hour
fetch : url web page website download internet
memory : knowledge graph remember fact entity
sequential : thinking reasoning step
`
